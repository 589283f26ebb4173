// The page of a graph. All text comes from the data and is only ever set as text.

const graph = JSON.parse(document.getElementById('graph').textContent);
const { nodes, edges, groups, hubs, kinds } = graph;
const main = document.querySelector('main');
const panel = document.querySelector('aside');
const search = document.querySelector('input');
const found = document.getElementById('found');
// More arrows are only drawn for the chosen resource.
const MOST_ARROWS = 1500;
// A longer arrow is not a simple curve.
const MOST_CURVED = 140;
// Between arrows of different kinds at the side of a box.
const PORT = 7;
// A longer layer has several columns.
const MOST_ROWS = 60;
// Around a longer layer, others begin at the top.
const MOST_CENTRED = 12;
// Larger graphs begin folded.
const MOST_OPEN = 600;

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function draw(name, attributes, parent) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;
const address = node => '#' + encodeURIComponent(node.key);

// What depends on what, and which arrows the hubs count.
for (const node of nodes) Object.assign(node, { below: [], above: [] });
for (const edge of edges) {
  nodes[edge.from].below.push(edge);
  nodes[edge.to].above.push(edge);
  edge.hubs = [];
}
for (const hub of hubs) for (const edge of hub.edges) edges[edge].hubs.push(hub);

// The boxes.
function boxOf(node, number) {
  const link = make('a', { href: address(node), title: node.key },
    make('b', { textContent: node.head }), node.short, make('small', { textContent: node.recipe }));
  const box = make('div', { className: 'box' }, link);
  box.classList.toggle('workload', node.type === 'workload');
  box.classList.toggle('implicit', node.implicit && node.type !== 'workload');
  for (const hub of hubs.filter(hub => hub.node === number)) {
    const label = `${hub.incoming ? '' : '→ '}${plural(hub.edges.length, 'resource')} (${hub.kind})${hub.incoming ? ' →' : ''}`;
    hub.button = make('button', { className: 'hub', type: 'button', textContent: label, title: 'Show or hide these arrows' });
    hub.button.addEventListener('click', () => {
      hub.open = !hub.open;
      hub.button.setAttribute('aria-pressed', hub.open);
      drawWays();
    });
    hub.button.setAttribute('aria-pressed', false);
    box.append(hub.button);
  }
  if (node.more) box.append(make('span', { className: 'more', textContent: node.more }));
  Object.assign(node, { box, link });
  return box;
}

function frameOf(group) {
  const layers = make('div', { className: 'layers' });
  for (const number of group.members) {
    const node = nodes[number];
    while (layers.children.length <= node.layer) layers.append(make('div', { className: 'layer' }));
    layers.children[node.layer].append(boxOf(node, number));
    node.group = group;
  }
  for (const layer of layers.children) {
    if (layer.children.length > MOST_CENTRED) layers.classList.add('tall');
    const columns = Math.ceil(layer.children.length / MOST_ROWS);
    layer.style.gridTemplateRows = `repeat(${Math.ceil(layer.children.length / columns)}, auto)`;
  }
  const count = make('span', { className: 'count' });
  const button = make('button', { type: 'button' }, group.workload ?? 'shared resources', count);
  const frame = make('section', { className: 'frame' }, make('h2', {}, button), layers);
  Object.assign(group, { frame, layers, button, count });
  button.addEventListener('click', () => { fold(group, !group.folded); drawWays(); });
  fold(group, nodes.length > MOST_OPEN);
  return frame;
}

function fold(group, folded) {
  group.folded = folded;
  group.layers.hidden = folded;
  group.frame.classList.toggle('folded', folded);
  group.button.setAttribute('aria-expanded', !folded);
  describe(group);
}

function describe(group) {
  const hits = group.members.filter(number => nodes[number].hit).length;
  group.count.textContent = plural(group.members.length, 'resource') + (hits && group.folded ? `, ${hits} found` : '');
}

const own = make('div', { className: 'groups' }, ...groups.filter(group => group.workload !== null).map(frameOf));
const shared = make('div', { className: 'groups' }, ...groups.filter(group => group.workload === null).map(frameOf));
const board = make('div', { className: 'board' }, ...[own, shared].filter(part => part.children.length));
const ways = draw('svg', { class: 'ways', 'aria-hidden': 'true' }, board);
// Arrows for which there is no way beside the boxes.
const over = draw('svg', { class: 'ways over', 'aria-hidden': 'true' }, board);
own.classList.toggle('own', shared.children.length > 0);
// Few workloads stand below each other, so that no arrow passes another workload.
own.classList.toggle('few', own.children.length <= 5);
main.append(board);
const used = new Set(edges.map(edge => edge.kind));
document.querySelector('.legend').append(
  ...kinds.map((kind, at) => used.has(at) ? make('li', { className: `k${at}`, textContent: kind }) : null).filter(Boolean));

// The arrows.
let chosen = null;

function ends(edge) {
  const place = node => node.group.folded ? node.group.frame : node.box;
  return [place(nodes[edge.from]), place(nodes[edge.to])];
}

// Where arrows of each kind leave and arrive at each box, and the ways found so far; valid as long as no box
// moves.
let drawing = { places: '' };

function prepare() {
  const origin = board.getBoundingClientRect();
  const areas = new Map();
  const areaOf = element => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left: left - origin.left, right: right - origin.left, top: top - origin.top, bottom: bottom - origin.top };
  };
  const add = element => areas.set(element, areaOf(element));
  for (const group of groups) {
    add(group.folded ? group.frame : group.button);
    if (!group.folded) group.members.forEach(number => add(nodes[number].box));
  }
  const list = [...areas.values()];
  const size = [board.clientWidth, board.clientHeight];
  const places = JSON.stringify([size, list]);
  if (places === drawing.places) return;
  const kindsAt = new Map();
  for (const edge of edges) {
    for (const [number, element] of ends(edge).entries()) {
      if (!kindsAt.has(element)) kindsAt.set(element, [new Set(), new Set()]);
      kindsAt.get(element)[number].add(edge.kind);
    }
  }
  const ports = new Map();
  const heights = [];
  for (const [element, sides] of kindsAt) {
    const { top, bottom } = areas.get(element);
    ports.set(element, sides.map(side => {
      const all = [...side].sort((a, b) => a - b);
      const step = Math.min(PORT, (bottom - top - 12) / all.length);
      return new Map(all.map((kind, at) => [kind, Math.round((top + bottom) / 2 + (at - (all.length - 1) / 2) * step)]));
    }));
    ports.get(element).forEach(side => heights.push(...side.values()));
  }
  const port = (element, side, kind) => ({ area: areas.get(element), y: ports.get(element)[side].get(kind) });
  const frames = groups.map(group => areaOf(group.frame));
  drawing = { places, size, list, port, router: makeRouter(list, frames, heights, ...size), found: new Map() };
}

// The paths of an arrow and its tip, and whether they pass beside the boxes.
function wayOf(from, to, kind) {
  const { list, port, router } = drawing;
  const [start, end] = [port(from, 0, kind), port(to, 1, kind)];
  const gap = end.area.left - start.area.right;
  const curve = gap >= 24 && gap <= MOST_CURVED ? curveOf(start, end, list) : null;
  if (curve) return [curve, true];
  const way = router.find({ from, to, kind }, start, end);
  if (way) return [pathOf(way), true];
  return [pathOf([[start.area.right, start.y], [end.area.left, end.y]]), false];
}

function drawWays() {
  prepare();
  const isLit = edge => chosen !== null && (nodes[edge.from] === chosen || nodes[edge.to] === chosen);
  let shown = edges.filter(edge => isLit(edge) || edge.hubs.every(hub => hub.open));
  if (shown.length > MOST_ARROWS) shown = shown.filter(isLit);
  const drawn = new Map();
  for (const edge of shown) {
    const [from, to] = ends(edge);
    if (from === to) continue;
    if (!drawn.has(from)) drawn.set(from, new Map());
    const earlier = drawn.get(from).get(to);
    if (!earlier || isLit(edge)) drawn.get(from).set(to, edge);
  }
  const arrows = [...drawn].flatMap(([from, others]) => [...others].map(([to, edge]) => ({ from, to, edge })));
  const length = ({ from, to, edge: { kind } }) => {
    const [start, end] = [drawing.port(from, 0, kind), drawing.port(to, 1, kind)];
    return Math.abs(end.area.left - start.area.right) + Math.abs(end.y - start.y);
  };
  drawing.router.begin();
  // Short ones first, so that they have no detours.
  arrows.sort((a, b) => length(a) - length(b));
  for (const layer of [ways, over]) {
    layer.replaceChildren();
    layer.setAttribute('width', drawing.size[0]);
    layer.setAttribute('height', drawing.size[1]);
  }
  for (const { from, to, edge } of arrows) {
    if (!drawing.found.has(from)) drawing.found.set(from, new Map());
    const known = drawing.found.get(from);
    const earlier = known.get(to);
    // What was not found among many others may be found for the chosen resource.
    const isKnown = earlier?.kind === edge.kind && (earlier.way[1] || !isLit(edge));
    if (!isKnown) known.set(to, { kind: edge.kind, way: wayOf(from, to, edge.kind) });
    const [[way, tip], isBeside] = known.get(to).way;
    const group = draw('g', { class: `k${edge.kind}${isLit(edge) ? ' lit' : ''}` }, isBeside ? ways : over);
    draw('path', { d: way }, group);
    draw('path', { d: tip, class: 'tip' }, group);
  }
}

// The panel.
function neighbours(title, list, end) {
  if (!list.length) return [];
  const items = list.map(edge => make('li', {},
    make('a', { className: 'key', href: address(nodes[edge[end]]), textContent: nodes[edge[end]].key }),
    ...edge.reasons.map(reason => make('small', { textContent: reason }))));
  return [make('h3', { textContent: `${title} (${list.length})` }), make('ul', {}, ...items)];
}

function pairs(className, list) {
  const cells = list.filter(([, value]) => value).flatMap(([name, value]) =>
    [make('dt', { textContent: name }), make('dd', {}, make('code', { textContent: value }))]);
  return make('dl', { className }, ...cells);
}

function fillPanel(node) {
  const close = make('button', { className: 'close', type: 'button', textContent: '✕', ariaLabel: 'Close' });
  close.addEventListener('click', leave);
  const origins = node.origins.map(origin => make('li', { textContent: origin }));
  panel.replaceChildren(close, make('h2', { className: 'key', textContent: node.key, tabIndex: -1 }),
    pairs('', [['URN', node.urn], ['type', node.type], ['class', node.class], ['id', node.id], ['definition', node.definition],
      ['bundle', node.bundle], ['driver', node.driver], ['matched by', node.matched], ['defined at', node.at], ['omitted', node.more]]),
    ...(node.inputs.length ? [make('h3', { textContent: 'Inputs' }), pairs('inputs', node.inputs)] : []),
    ...neighbours('Depends on', node.below, 'to'),
    ...neighbours('Needed by', node.above, 'from'),
    ...(origins.length ? [make('h3', { textContent: 'In the graph because' }), make('ul', {}, ...origins)] : []));
  panel.scrollTop = 0;
}

function reach(node, list, end, into) {
  const queue = [node];
  while (queue.length) {
    for (const edge of queue.pop()[list]) {
      const other = nodes[edge[end]];
      if (!into.has(other)) queue.push(other);
      into.add(other);
    }
  }
}

// The address names the chosen resource, so that links and the browser's buttons work.
function choose() {
  let key = location.hash.slice(1);
  try { key = decodeURIComponent(key); } catch { /* not one of ours */ }
  chosen = nodes.find(node => node.key === key) ?? null;
  const near = new Set();
  if (chosen) {
    reach(chosen, 'below', 'to', near);
    reach(chosen, 'above', 'from', near);
    if (chosen.group.folded) fold(chosen.group, false);
    fillPanel(chosen);
  }
  for (const node of nodes) {
    node.box.classList.toggle('chosen', node === chosen);
    node.box.classList.toggle('near', near.has(node));
  }
  board.classList.toggle('choosing', chosen !== null);
  panel.hidden = chosen === null;
  drawWays();
  if (chosen) chosen.box.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

function leave() {
  const before = chosen;
  history.replaceState(null, '', location.pathname + location.search);
  choose();
  if (before) before.link.focus();
}

// The search.
let hits = [];

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const node of nodes) {
    node.hit = words.length > 0 && words.every(word => node.text.includes(word));
    node.box.classList.toggle('hit', node.hit);
  }
  hits = nodes.filter(node => node.hit);
  groups.forEach(describe);
  board.classList.toggle('searching', words.length > 0);
  found.textContent = words.length ? `${hits.length} of ${nodes.length} found` : '';
}

for (const node of nodes) {
  node.text = [node.key, node.driver, node.definition, node.bundle].filter(Boolean).join('\n').toLowerCase();
}
search.addEventListener('input', find);
search.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !hits.length) return;
  const step = event.shiftKey ? hits.length - 1 : 1;
  const next = hits.includes(chosen) ? hits[(hits.indexOf(chosen) + step) % hits.length] : hits[0];
  location.hash = address(next);
});

// The keys: Escape leaves, `/` searches, and arrows go to the nearest box.
function nearest(box, dx, dy) {
  const middle = area => [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
  const [x, y] = middle(box.getBoundingClientRect());
  let best = null;
  let least = Infinity;
  for (const node of nodes) {
    if (node.box === box || node.group.folded) continue;
    const [nx, ny] = middle(node.box.getBoundingClientRect());
    const along = (nx - x) * dx + (ny - y) * dy;
    const aside = Math.abs((nx - x) * dy) + Math.abs((ny - y) * dx);
    if (along > 4 && along + 3 * aside < least) [best, least] = [node, along + 3 * aside];
  }
  return best;
}

document.addEventListener('keydown', event => {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const box = document.activeElement?.closest?.('.box');
  if (event.key === 'Escape') {
    if (document.activeElement === search && search.value) {
      search.value = '';
      find();
    } else if (chosen) {
      leave();
    }
  } else if (event.key === '/' && document.activeElement !== search && !event.ctrlKey && !event.metaKey) {
    search.focus();
    search.select();
  } else if (box && arrows[event.key] && !event.altKey && !event.ctrlKey && !event.metaKey) {
    nearest(box, ...arrows[event.key])?.link.focus();
  } else {
    return;
  }
  event.preventDefault();
});

const foldAll = document.getElementById('fold');
foldAll.addEventListener('click', () => {
  const folded = groups.some(group => !group.folded);
  groups.forEach(group => fold(group, folded));
  main.scrollTo(0, 0);
  drawWays();
});

window.addEventListener('hashchange', choose);
window.addEventListener('resize', drawWays);
new ResizeObserver(drawWays).observe(board);
choose();
