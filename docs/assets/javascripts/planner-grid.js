/* What the build wrote of the catalog: the figures of each model, and the pictures of layouts. */

import { Sentence } from "./planner-engine.js"

const WHOLE = /^[1-9]\d*$/ // a number as the grid holds it
const grids = new Map()

/* The figures of a model, null where the site has none. */
export async function gridOf(model, root) {
  if (!grids.has(model)) {
    try {
      const reply = await fetch(new URL(`models/${model}.json`, root))
      if (!reply.ok) return null
      grids.set(model, await reply.json())
    } catch {
      throw new Sentence(`The figures of ${model} did not arrive: check the connection and compute again.`)
    }
  }
  return grids.get(model)
}

/* The cell of the grid that answers, null where the question is another. */
export function cellOf(grid, values) {
  const { gpus_per_node: most, ...terms } = grid.asked
  if (!WHOLE.test(values.gpus_per_node) || !WHOLE.test(values.nodes)) return null
  const per = Number(values.gpus_per_node)
  const nodes = Number(values.nodes)
  if (per > most || (nodes !== 1 && per !== most)) return null
  if (Object.entries(terms).some(([name, value]) => values[name] !== String(value))) return null
  if (!grid.gpus[values.gpu]?.goals.includes(values.goal)) return null
  return grid.cells[values.gpu][String(per * nodes)] ?? null
}

/* The picture of a layout, null where it does not arrive. */
export async function drawn(path, root) {
  const reply = await fetch(new URL(`models/${path}`, root)).catch(() => null)
  return reply?.ok ? reply.text().catch(() => null) : null
}
