// Turns a driver into a component: connects it with the host.

import { exit } from "wasi:cli/exit@0.2.0";
import * as log from "purlin:driver/log@0.3.0";
import * as operation from "purlin:driver/operation@0.3.0";
import * as metrics from "purlin:metrics/metrics@0.1.0";

import { fetchBy } from "./fetch.js";
import * as files from "./files.js";
import { needPreview } from "./driver.js";
import { consent, host } from "./index.js";
import { lifecycleOf, previewOf } from "./lifecycle.js";
import { traced } from "./trace.js";
import { send } from "./wasi.js";

Object.assign(host, {
  log: log.write,
  checkpoint: operation.checkpoint,
  progress: operation.progress,
  count: (name, by = 1) => metrics.count(name, BigInt(by)),
  measure: metrics.measure,
  cancelled: operation.cancelled,
  timeLeft: () => Number(operation.timeLeft()),
  files,
});
// The engine's own `fetch` does not say why there is no answer.
globalThis.fetch = fetchBy(send);

/**
 * The component's exports `lifecycle` and `preview`. `sourceMap` returns that of the bundle, with the folder of this
 * package. `theirs` is what the host has for a component that exports previews: the interface `consent`.
 */
export function component(driver, sourceMap, theirs) {
  needPreview(driver, theirs !== undefined);
  if (theirs) Object.assign(consent, { token: theirs.token, reached: theirs.reached });
  const its = {
    log: log.write,
    crash: () => exit({ tag: "err" }),
    traced: (stack) => traced(stack, sourceMap()),
    isOurs: (line) => line.includes(`@${sourceMap().sdk}/`),
  };
  return { lifecycle: lifecycleOf(driver, its), preview: previewOf(driver, its) };
}
