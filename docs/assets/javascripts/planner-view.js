/* An answer as elements. Strings come from the package and are set as text, never read as markup;
 * pictures are SVG that the package has drawn. */

const GOALS = {
  "tpot": "time of a token",
  "throughput": "tokens a second of a GPU",
  "longest-request": "longest request",
  "capacity": "tokens in the KV cache",
}
const PARTS = ["weights and buffers", "overhead", "KV cache", "beyond the budget"]
// Thousandths of a bar that a letter needs, and with its figure on a desk and on a phone.
const LETTER = 30
const NARROW = 55
const WIDE = 140
const COLUMNS = [
  ["running", "at once"], ["tpot", "TPOT"], ["throughput", "tokens/s a GPU"],
  ["tokens", "KV tokens of a pool"], ["engines", "pools"], ["concurrency", "full requests in it"],
  ["longest", "longest request"],
]

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value)
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value)
  }
  element.append(...children)
  return element
}

/* Rows with the names of their columns, each with its layout. */
export function rowsOf(answer, goal) {
  const { columns, layouts, cell } = answer
  const numbers = cell.ranked[goal] ?? []
  return numbers.map(number => {
    const row = Object.fromEntries(columns.map((name, at) => [name, cell.rows[number][at]]))
    return { ...row, layout: layouts[row.layout], engines: String(layouts[row.layout].engines) }
  })
}

/* What fell out by a goal. */
function fallen({ cell }, goal) {
  return cell.otherwise?.[goal] ?? cell
}

export function refusalsOf(answer, goal) {
  const { refusals, texts } = answer
  return fallen(answer, goal).refused.map(values => {
    const row = Object.fromEntries(refusals.map((name, at) => [name, values[at]]))
    return { ...row, message: texts[row.message], fix: texts[row.fix] }
  })
}

export function summary(answer, goal, rows) {
  const { searched } = answer.cell
  const many = `${searched} layout${searched === 1 ? "" : "s"}`
  if (!rows.length) return `vLLM starts none of ${many}. What refuses them, and the way out, stands below.`
  const { found } = fallen(answer, goal)
  const first = found > rows.length ? ` The first ${rows.length} are shown.` : ""
  return `vLLM starts ${found} of ${many}.${first} First by ${GOALS[goal]}: ${rows[0].layout.name}.`
}

export function ranking(rows, goal, picked, pick) {
  const shown = COLUMNS.filter(([name]) => rows.some(row => row[name] !== null))
  const head = make("tr", {}, make("th", { scope: "col" }, "layout"),
    ...shown.map(([, says]) => make("th", { scope: "col", class: "num" }, says)))
  const body = rows.map(row => {
    const name = row.layout.name
    const choice = make("input", {
      type: "radio", name: "layout", value: name, checked: row === picked, change: () => pick(name),
    })
    return make("tr", {}, make("th", { scope: "row" }, make("label", {}, choice, " ", name)),
      ...shown.map(([column]) => make("td", { class: `num ${kind(column)}` }, row[column] ?? "")))
  })
  const says = `Best first by ${GOALS[goal]}. Computed, not measured; italic figures rest on an assumed overhead.`
  return box("table", { class: "figures ranking" },
    make("caption", {}, says), make("thead", {}, head), make("tbody", {}, ...body))
}

function kind(column) {
  return ["tokens", "concurrency", "longest"].includes(column) ? "assumed" : "computed"
}

export function memory(rows) {
  const bars = rows.map(row => {
    const said = PARTS.map((part, at) => `${part} ${row.memory[at]}`).join(", ")
    const parts = row.bar.map((length, at) => {
      const figure = length >= NARROW ? make("b", { class: length >= WIDE ? "" : "narrow" }, ` ${row.memory[at]}`) : ""
      const part = make("span", { class: `part part-${at}` }, length >= LETTER ? "WOKB"[at] : "", figure)
      part.style.flexGrow = length
      return part
    })
    const label = `${row.layout.name}: ${said} GiB; overhead ${row.overhead}`
    return make("li", {}, make("span", { class: "label", "aria-hidden": "true" }, row.layout.name),
      make("div", { class: "bar", role: "img", "aria-label": label }, ...parts))
  })
  const key = PARTS.map((part, at) =>
    make("span", {}, make("i", { class: `part part-${at}` }, "WOKB"[at]), ` ${part}`))
  return make("figure", { class: "bars" }, make("ul", {}, ...bars),
    make("figcaption", {}, make("span", { class: "key" }, ...key),
      "GiB of the GPU that has least left. The overhead is assumed, so what it leaves to the KV cache is too."))
}

export function commands(layout, copy, goal) {
  const made = [make("h2", {}, `Start ${layout.name}`)]
  if (layout.refused) made.push(make("p", {}, `Over nodes, vLLM says: ${layout.refused}`))
  if (goal === "longest-request") made.push(make("p", {}, "To serve its longest request, raise --max-model-len as far; then compute again."))
  return [...made, ...layout.commands.map((text, at) => command(text, at, layout, copy))]
}

export function details(row, parts) {
  const priced = row.step ? [make("h2", {}, "What a decode step takes"), step(row, parts)] : []
  return [...priced, make("h2", {}, "Where its ranks are")]
}

function command(text, at, layout, copy) {
  const several = layout.commands.length > 1
  const where = !several ? "On the node" : at === 0 ? "On the first node, which serves" : `On node ${at}`
  const button = make("button", {
    type: "button", class: "md-button copy", "aria-label": several ? `Copy the command of node ${at}` : "Copy the command",
    click: () => copy(text, button),
  }, "Copy")
  return make("div", { class: "command" }, make("p", {}, where, button),
    make("pre", { tabindex: "0" }, make("code", {}, text)))
}

function step(row, parts) {
  return box("table", { class: "figures" },
    make("caption", {}, `Of the slowest stage, ${row.running} requests at once. Computed, not measured.`),
    make("thead", {}, make("tr", {}, ...parts.map(name => make("th", { scope: "col", class: "num" }, name)))),
    make("tbody", {}, make("tr", {}, ...row.step.map(text => make("td", { class: "num computed" }, text)))))
}

export function picture(svg) {
  const named = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
  const parsed = new DOMParser().parseFromString(named, "image/svg+xml").documentElement
  return make("figure", { class: "placement" }, document.importNode(parsed, true))
}

export function refused(rows, constraints) {
  if (!rows.length) return []
  const list = rows.map(row => make("li", {},
    make("p", {}, make("strong", {}, `${row.layouts} × `),
      row.stage ? make("a", { href: `${constraints}#${row.rule}` }, row.rule) : row.rule,
      `, such as ${row.example}`),
    make("blockquote", {}, row.message), make("p", {}, make("em", {}, "Way out: "), `${row.fix}.`)))
  return [make("h2", {}, "What vLLM refuses, and the way out"), make("ul", { class: "refusals" }, ...list)]
}

function box(tag, attributes, ...children) {
  return make("div", { class: "table-box", tabindex: "0", role: "group", "aria-label": "Table" },
    make(tag, attributes, ...children))
}
