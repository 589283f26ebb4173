// The ways of arrows: beside boxes, never behind them. It knows areas, not resources.
'use strict';

// Between an arrow and a box that it passes.
const CLEARANCE = 4;
// Between arrows next to each other.
const TRACK = 6;
const MOST_TRACKS = 6;
// Lines closer than this are one line.
const LEAST_APART = 3;
// The length of the tip of an arrow.
const TIP = 7;
// How many pixels of a detour a turn is worth, and an arrow that does not lead from left to right.
const TURN = 24;
const OTHER_SIDE = 90;
// How much longer a way through the frame of others counts than one between frames.
const FOREIGN = 1.3;
// The search for the ways of one drawing ends after so many steps.
const MOST_STEPS = 1000000;
const ROUND = 8;

// The lines on which arrows may run: some in each gap between the bounds of areas, and those of ports.
function linesOf(areas, low, high, end, ports) {
  const bounds = [0, end, ...areas.flatMap(area => [area[low] - CLEARANCE, area[high] + CLEARANCE])];
  bounds.sort((a, b) => a - b);
  const lines = [...new Set(ports)].map(at => [at, true]);
  for (let n = 1; n < bounds.length; n++) {
    const [from, width] = [bounds[n - 1], bounds[n] - bounds[n - 1]];
    const count = width > 0 ? Math.min(Math.max(Math.floor(width / TRACK), 1), MOST_TRACKS) : 0;
    for (let k = 1; k <= count; k++) lines.push([from + width * k / (count + 1), false]);
  }
  lines.sort((a, b) => a[0] - b[0]);
  const kept = [];
  for (const [at, isPort] of lines) {
    const isNear = kept.length > 0 && at - kept[kept.length - 1][0] < LEAST_APART;
    if (!isNear || (isPort && kept[kept.length - 1][1])) kept.push([at, isPort]);
    else if (isPort) kept[kept.length - 1] = [at, true];
  }
  return kept.map(([at]) => at);
}

// The number of the first line at or after a place.
function firstAt(lines, at) {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle] < at) low = middle + 1; else high = middle;
  }
  return low;
}

// A queue from which the least comes first.
function makeQueue() {
  const heap = [];
  const swap = (a, b) => { [heap[a], heap[b]] = [heap[b], heap[a]]; };
  return {
    get size() { return heap.length; },
    push(cost, value) {
      let at = heap.push([cost, value]) - 1;
      while (at > 0 && heap[(at - 1) >> 1][0] > heap[at][0]) {
        swap(at, (at - 1) >> 1);
        at = (at - 1) >> 1;
      }
    },
    pop() {
      swap(0, heap.length - 1);
      const least = heap.pop();
      for (let at = 0; ;) {
        let next = 2 * at + 1;
        if (next + 1 < heap.length && heap[next + 1][0] < heap[next][0]) next += 1;
        if (next >= heap.length || heap[at][0] <= heap[next][0]) return least;
        swap(at, next);
        at = next;
      }
    },
  };
}

// Finds ways between areas, some of which are in frames. `ports` are the heights at which arrows leave and arrive. Two ways share a part
// only if they are of one kind and have the same start or the same end.
function makeRouter(areas, frames, ports, width, height) {
  const middle = area => (area.left + area.right) / 2;
  const xs = linesOf(areas, 'left', 'right', width, areas.map(middle));
  const ys = linesOf(areas, 'top', 'bottom', height, ports);
  const rows = ys.length;
  // A node is the crossing of two lines, a state a node and whether the way is vertical there.
  const blocked = new Uint8Array(xs.length * rows);
  // The number of the frame, from 1.
  const inside = new Uint16Array(xs.length * rows);
  const mark = (marks, mark, area, margin) => {
    const last = firstAt(xs, area.right + margin);
    for (let i = firstAt(xs, area.left - margin + 0.01); i < last; i++) {
      marks.fill(mark, i * rows + firstAt(ys, area.top - margin + 0.01), i * rows + firstAt(ys, area.bottom + margin));
    }
  };
  areas.forEach(area => mark(blocked, 1, area, CLEARANCE));
  frames.forEach((frame, number) => mark(inside, number + 1, frame, 0));
  const costs = new Float64Array(blocked.length * 2);
  const before = new Int32Array(blocked.length * 2);
  const seen = new Uint32Array(blocked.length * 2);
  const [onPart, atNode, turned] = [new Map(), new Map(), new Map()];
  let [round, steps] = [0, 0];

  const isShared = (a, b) => a.kind === b.kind && (a.from === b.from || a.to === b.to);
  const isFree = (users, way) => (users ?? []).every(user => isShared(user, way));
  const note = (map, key, way) => { if (map.has(key)) map.get(key).push(way); else map.set(key, [way]); };

  // The nodes where a way may begin or end: on each side of an area, with their cost.
  function doors(area, y, isStart) {
    const [x, row] = [middle(area), firstAt(ys, y)];
    const least = isStart ? CLEARANCE : TIP;
    const column = firstAt(xs, x);
    const right = firstAt(xs, area.right + least);
    const left = firstAt(xs, area.left - least + 0.01) - 1;
    const below = firstAt(ys, area.bottom + least);
    const above = firstAt(ys, area.top - least + 0.01) - 1;
    const [toRight, toLeft] = isStart ? [0, 2 * OTHER_SIDE] : [2 * OTHER_SIDE, 0];
    return [
      { i: right, j: row, point: [area.right, y], vertical: 0, cost: toRight },
      { i: left, j: row, point: [area.left, y], vertical: 0, cost: toLeft },
      { i: column, j: below, point: [x, area.bottom], vertical: 1, cost: OTHER_SIDE },
      { i: column, j: above, point: [x, area.top], vertical: 1, cost: OTHER_SIDE },
    ].filter(({ i, j }) => i >= 0 && j >= 0 && i < xs.length && j < rows && !blocked[i * rows + j])
      .map(door => ({ ...door, state: (door.i * rows + door.j) * 2 + door.vertical }));
  }

  function find(way, from, to) {
    const starts = doors(from.area, from.y, true);
    const ends = new Map(doors(to.area, to.y, false).map(door => [door.state, door]));
    const frameOf = ({ left, top }) => frames.findIndex(frame =>
      frame.left <= left && left < frame.right && frame.top <= top && top < frame.bottom);
    const own = [from, to].map(end => frameOf(end.area) + 1);
    const far = node => {
      const [x, y] = [xs[Math.floor(node / rows)], ys[node % rows]];
      return Math.max(to.area.left - x, 0, x - to.area.right) + Math.max(to.area.top - y, 0, y - to.area.bottom);
    };
    const queue = makeQueue();
    round += 1;
    const reach = (state, cost, previous) => {
      if (seen[state] === round && costs[state] <= cost) return;
      [seen[state], costs[state], before[state]] = [round, cost, previous];
      queue.push(cost + far(state >> 1), state);
    };
    for (const door of starts) reach(door.state, door.cost, -1);
    let best = null;
    while (queue.size) {
      const [bound, state] = queue.pop();
      if (best !== null && bound >= best.cost) break;
      if ((steps += 1) > MOST_STEPS) return null;
      const [node, vertical, cost] = [state >> 1, state & 1, costs[state]];
      if (bound > cost + far(node) + 1e-6) continue;
      const door = ends.get(state);
      if (door && (best === null || cost + door.cost < best.cost)) best = { state, door, cost: cost + door.cost };
      if (isFree(atNode.get(node), way)) reach(state ^ 1, cost + TURN, state);
      if (!isFree(turned.get(node), way)) continue;
      const [i, j] = [Math.floor(node / rows), node % rows];
      for (const step of [-1, 1]) {
        const [ni, nj] = vertical ? [i, j + step] : [i + step, j];
        if (ni < 0 || nj < 0 || ni >= xs.length || nj >= rows || blocked[ni * rows + nj]) continue;
        const next = ni * rows + nj;
        if (!isFree(onPart.get(Math.min(node, next) * 2 + vertical), way)) continue;
        const length = Math.abs(xs[ni] - xs[i]) + Math.abs(ys[nj] - ys[j]);
        const isForeign = inside[node] !== 0 && inside[node] === inside[next] && !own.includes(inside[node]);
        reach(next * 2 + vertical, cost + length * (isForeign ? FOREIGN : 1), state);
      }
    }
    if (best === null) return null;
    const points = [best.door.point];
    let state = best.state;
    for (; ;) {
      const previous = before[state];
      const [node, other] = [state >> 1, previous >> 1];
      points.push([xs[Math.floor(node / rows)], ys[node % rows]]);
      note(atNode, node, way);
      if (previous < 0) break;
      if (node === other) note(turned, node, way);
      else note(onPart, Math.min(node, other) * 2 + (state & 1), way);
      state = previous;
    }
    points.push(starts.find(door => door.state === state).point);
    return straight(points.reverse());
  }

  return { find, begin: () => { steps = 0; } };
}

// Only the ends and the corners of a way.
function straight(points) {
  const isLevel = (a, b, c) => (a[0] === b[0] && b[0] === c[0]) || (a[1] === b[1] && b[1] === c[1]);
  const kept = [];
  for (const point of points) {
    const [a, b] = kept.slice(-2);
    if (kept.length > 0 && point[0] === kept[kept.length - 1][0] && point[1] === kept[kept.length - 1][1]) continue;
    if (kept.length > 1 && isLevel(a, b, point)) kept.pop();
    kept.push(point);
  }
  return kept;
}

// The path of a way with round corners, and that of its tip.
function pathOf(points) {
  const last = points.length - 1;
  const toward = ([x, y], [ex, ey], length) => {
    const whole = Math.hypot(ex - x, ey - y);
    return [x + (ex - x) * length / whole, y + (ey - y) * length / whole];
  };
  const end = toward(points[last], points[last - 1], TIP);
  const all = [...points.slice(0, last), end];
  let way = `M${all[0]}`;
  for (let n = 1; n < last; n++) {
    const [a, b, c] = all.slice(n - 1, n + 2);
    const round = Math.min(ROUND, Math.hypot(b[0] - a[0], b[1] - a[1]) / 2, Math.hypot(c[0] - b[0], c[1] - b[1]) / 2);
    way += `L${toward(b, a, round)}Q${b} ${toward(b, c, round)}`;
  }
  way += `L${end}`;
  const [x, y] = points[last];
  const [dx, dy] = [(x - end[0]) / 2, (y - end[1]) / 2];
  return [way, `M${x} ${y}L${end[0] - dy} ${end[1] + dx}L${end[0] + dy} ${end[1] - dx}z`];
}

// A curve to the right, if no area is in its way.
function curveOf(from, to, areas) {
  const [x, y, ex, ey] = [from.area.right, from.y, to.area.left, to.y];
  const bend = Math.max(24, (ex - x) / 2);
  const end = ex - TIP;
  for (let n = 0; n <= 24; n++) {
    const [t, u] = [n / 24, 1 - n / 24];
    const px = u * u * u * x + 3 * u * u * t * (x + bend) + 3 * u * t * t * (end - bend) + t * t * t * end;
    const py = (u * u * u + 3 * u * u * t) * y + (3 * u * t * t + t * t * t) * ey;
    const isIn = area => area !== from.area && area !== to.area
      && px > area.left - 2 && px < area.right + 2 && py > area.top - 2 && py < area.bottom + 2;
    if (areas.some(isIn)) return null;
  }
  return [`M${x} ${y}C${x + bend} ${y} ${end - bend} ${ey} ${end} ${ey}`, `M${ex} ${ey}l-${TIP} -3.5v7z`];
}
