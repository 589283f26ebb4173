// The component: what build.mjs makes `note.wasm` of.

import note from "./note.js";
import { lifecycle as component } from "./purlin/component.js";

export const lifecycle = component(note);
