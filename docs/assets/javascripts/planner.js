/* The planner's form: what it asks is in the address, what it shows comes from the package. Catalog
 * questions are looked up in the grid that the build wrote; others are computed by the package. */

import { pack, unpack } from "./planner-address.js"
import { Engine, Sentence } from "./planner-engine.js"
import { cellOf, drawn, gridOf } from "./planner-grid.js"
import { commands, details, make, memory, picture, ranking, refusalsOf, refused, rowsOf, summary } from "./planner-view.js"

const ROOT = new URL("../../", import.meta.url)
const form = document.getElementById("planner")
const said = document.getElementById("planner-said")
const shown = document.getElementById("planner-answer")
const own = form.elements.config
const { python, archive, most } = form.dataset
const engine = python ? new Engine({ python: new URL(python, ROOT).href, archive: new URL(archive, ROOT).href }) : null
const MOST = Number(most)
const LINK = 8000 // characters of a config in an address
const TYPING_MS = 500
const NAMES = ["gpu", "gpus_per_node", "nodes", "max_model_len", "gpu_memory_utilization", "concurrency", "context", "goal"]
const CONFIG = "#config="
// Of the markup: a browser that goes back restores what was typed.
const written = Object.fromEntries(NAMES.map(name => [name, standard(form.elements[name])]))
const defaults = { ...written }
let picked = ""
let asked = 0 // questions so far: an answer to an old one is dropped
let kept = location.search // as it was last written or read

/* Where the question stands. */

function fields() {
  const values = Object.fromEntries(NAMES.map(name => [name, form.elements[name].value.trim()]))
  const model = form.elements.model.value
  return model ? { ...values, model, config: "" } : { ...values, model: "", config: own.value }
}

function standard(field) {
  return field.options ? [...field.options].find(one => one.defaultSelected).value : field.defaultValue
}

async function keep(values, mine = asked) {
  const packs = values.config && "CompressionStream" in window
  const packed = packs ? await pack(values.config) : ""
  if (mine !== asked) return
  const query = new URLSearchParams()
  if (values.model || !values.config) query.set("model", values.model)
  for (const name of NAMES) if (values[name] !== defaults[name]) query.set(name, values[name])
  if (picked) query.set("layout", picked)
  const fits = packed.length <= LINK && Boolean(packed || !values.config)
  form.querySelector(".unlinked").hidden = fits
  const address = new URL(location)
  address.search = query
  // Without its config an address says so, and answers for no other model.
  if (values.config) address.hash = fits ? CONFIG + packed : CONFIG
  else if (address.hash.startsWith(CONFIG)) address.hash = ""
  history.replaceState(null, "", address)
  kept = address.search
}

/* Every field as the address has it; a sentence where it cannot be read. */
async function restore() {
  const query = new URLSearchParams(location.search)
  const { hash } = location
  const wrong = []
  Object.assign(defaults, written)
  kept = location.search
  for (const name of [...NAMES, "model"]) {
    const field = form.elements[name]
    const value = query.get(name) ?? standard(field)
    const known = !field.options || [...field.options].some(one => one.value === value)
    field.value = known ? value : standard(field)
    if (!known) wrong.push(`The planner has no ${name} ${JSON.stringify(value.slice(0, 60))}: choose one.`)
  }
  picked = query.get("layout") ?? ""
  own.value = ""
  if (!hash.startsWith(CONFIG)) return wrong[0]
  form.elements.model.value = ""
  const packed = hash.slice(CONFIG.length)
  if (!packed) return "The address leaves the config out, as it was too long for one: paste it again."
  const text = await unpack(packed, 4 * MOST).catch(() => "")
  if (location.hash !== hash) return restore()
  own.value = text
  return text ? wrong[0] : "The config in the address cannot be read, as it was cut or changed on its way: paste the config itself."
}

/* What the address asks. */
async function reopen() {
  const mine = ++asked
  const wrong = await restore()
  if (mine !== asked) return
  goals()
  if (wrong) refuse(wrong)
  else await answer(false)
}

/* Asking. */

function say(text, ...more) {
  said.replaceChildren(text, ...more)
}

/* A sentence in place of an answer, also of one that is still awaited. */
function refuse(text) {
  asked++
  clearTimeout(typing)
  say(text)
  shown.replaceChildren()
  shown.inert = false
  form.dispatchEvent(new Event("answered"))
}

async function answer(compute) {
  const mine = ++asked
  const values = fields()
  clearTimeout(typing)
  shown.inert = true // what stands there answers another question
  try {
    await keep(values, mine)
    const found = mine === asked && await look(values, compute)
    if (mine !== asked) return
    if (found) await show(found, values)
    else offer(values)
  } catch (error) {
    if (mine !== asked) return
    say(error instanceof Sentence ? error.message : "This page failed to answer: load it again, or ask vllm-parallel layouts in a terminal.")
    shown.replaceChildren()
  }
  if (mine !== asked) return
  shown.inert = false
  form.dispatchEvent(new Event("answered"))
}

async function look(values, compute) {
  if (values.model) {
    const grid = await gridOf(values.model, ROOT)
    if (grid) follow(grid.asked)
    Object.assign(values, fields())
    const cell = grid && cellOf(grid, values)
    if (cell) return { ...grid, cell, from: "grid", error: grid.texts[cell.error] }
  } else if (!values.config.trim()) {
    throw new Sentence("Paste a config.json, drop one here, or choose a model of the catalog.")
  } else if (values.config.length > MOST) {
    throw new Sentence(tooLong(values.config.length))
  }
  if (!engine || !(compute || engine.begun)) return null
  if (!engine.begun) shown.replaceChildren()
  if (!engine.begun) say(`Loading Python, ${form.dataset.size}. It stays for further questions.`)
  return { ...JSON.parse(await engine.ask("answered", JSON.stringify(values))), from: "browser" }
}

function tooLong(length) {
  const [has, at] = [length, MOST].map(one => one.toLocaleString("en-US"))
  return `The config has ${has} characters; a config.json has at most ${at}.`
}

/* A default that nobody changed follows the model's own. */
function follow(terms) {
  for (const [name, value] of Object.entries(terms)) {
    const field = form.elements[name]
    if (name === "gpus_per_node" || field.value !== defaults[name]) continue
    field.value = defaults[name] = String(value)
  }
}

function offer(values) {
  shown.replaceChildren()
  const what = values.model ? "This question is not in the figures that the site was built with." : "Your config is computed by the package itself, in this browser."
  if (!engine) {
    say(`${what} This build of the site has no Python for browsers, so it cannot be computed here; vllm-parallel layouts answers it in a terminal.`)
    return
  }
  const button = make("button", { type: "button", class: "md-button", click: () => answer(true) }, "Compute it here")
  say(`${what} `, button, ` It loads Python once, ${form.dataset.size}; nothing leaves your browser.`)
}

/* Showing. */

async function show(found, values) {
  if (found.error) {
    say(found.error)
    shown.replaceChildren()
    return
  }
  const goal = values.goal
  const rows = rowsOf(found, goal)
  const row = rows.find(one => one.layout.name === picked) ?? rows[0]
  const source = found.from === "grid" ? "From the figures that the site was built with." : "Computed in this browser just now, by the package itself."
  const page = new URL(`models/${values.model}/`, ROOT)
  const more = found.from === "grid" ? [make("a", { href: page }, `All about ${values.model}`), "."] : []
  const missing = picked && rows.length && row.layout.name !== picked ? `${picked} is not among those shown. ` : ""
  say(`${summary(found, goal, rows)} ${missing}`, make("small", {}, source), " ", ...more)
  const start = make("div")
  const detail = make("div")
  const choose = async one => {
    start.replaceChildren(...commands(one.layout, copy, goal))
    detail.replaceChildren(...details(one, found.parts))
    const svg = one.layout.svg ?? (await drawn(one.layout.picture, ROOT))
    if (svg && one.layout.name === (picked || rows[0].layout.name)) detail.append(picture(svg))
  }
  const pick = name => {
    picked = name
    keep(values)
    choose(rows.find(one => one.layout.name === name))
  }
  if (row?.layout.name !== picked) picked = ""
  const started = [start, make("h2", {}, "What the memory goes to"), memory(rows), detail]
  shown.replaceChildren(
    ...found.notes.map(note => make("p", {}, note)),
    ...(rows.length ? [ranking(rows, goal, row, pick), ...started] : []),
    ...refused(refusalsOf(found, goal), new URL("reference/constraints/", ROOT)),
  )
  if (row) await choose(row)
}

async function copy(text, button) {
  const note = document.getElementById("planner-copied")
  try {
    await navigator.clipboard.writeText(text)
    note.textContent = button.textContent = "Copied"
  } catch {
    note.textContent = button.textContent = "Select it: this browser does not let a page copy"
  }
  setTimeout(() => { note.textContent = ""; button.textContent = "Copy" }, 3000)
}

/* A config that is pasted or dropped, wherever on the page, takes the place of the model. */

function take(text) {
  if (text.length > MOST) return refuse(tooLong(text.length))
  own.value = text.replace(/^\uFEFF/, "")
  form.elements.model.value = ""
  picked = ""
  answer(true)
}

async function takeFile(file) {
  if (!file) return
  if (file.size > 4 * MOST) return refuse(tooLong(file.size))
  const mine = ++asked
  const text = await file.text().catch(() => null)
  if (mine !== asked) return
  if (text === null) refuse("The file cannot be read: choose it again.")
  else take(text)
}

document.addEventListener("paste", event => {
  const typed = event.target.closest?.("input, select, textarea")
  const text = event.clipboardData?.getData("text/plain") ?? ""
  if ((typed && typed !== own) || !text.trim()) return
  if (typed === own && own.value.trim() && text.length <= MOST) return // a piece of it
  event.preventDefault()
  if (typed || text.trimStart().startsWith("{")) take(text)
  else say("What was pasted is no config.json, which starts with {: paste the whole file.")
})
form.addEventListener("dragover", event => event.preventDefault())
form.addEventListener("drop", event => {
  event.preventDefault()
  const file = event.dataTransfer.files[0]
  if (file) takeFile(file)
  else take(event.dataTransfer.getData("text/plain"))
})
form.elements.file.addEventListener("change", event => takeFile(event.target.files[0]))

function goals() {
  const open = form.elements.gpu.selectedOptions[0].dataset.goals.split(" ")
  for (const option of form.elements.goal.options) option.disabled = !open.includes(option.value)
  if (!open.includes(form.elements.goal.value)) form.elements.goal.value = "capacity"
}

let typing = 0
form.addEventListener("input", event => {
  const field = event.target
  if (field.name === "layout" || field.type === "file") return
  if (field === own) form.elements.model.value = ""
  if (field.name === "model") picked = ""
  goals()
  clearTimeout(typing)
  if (field.tagName === "SELECT") answer(false)
  else typing = setTimeout(() => answer(false), TYPING_MS)
})
form.addEventListener("submit", event => {
  event.preventDefault()
  clearTimeout(typing)
  answer(true)
})

addEventListener("hashchange", () => {
  if (location.hash.startsWith(CONFIG) || location.search !== kept) reopen()
  else keep(fields()) // a heading, whose address has lost the config
})

form.hidden = false
document.getElementById("planner-static").hidden = true
reopen()
