/* Sorts and filters the table of models. Without this script it is a table like any other. */
{
  const table = document.querySelector("table.models")
  const groups = table ? [...table.querySelectorAll("tr.group")] : []
  const rows = table ? [...table.querySelectorAll("tr[data-family]")] : []
  const body = table?.tBodies[0]
  const order = body ? [...body.rows] : []
  const KINDS = { "": "any kind", dense: "dense", moe: "with experts", latent: "latent attention",
    hybrid: "hybrid", quantised: "quantised", multimodal: "multimodal" }
  const COUNTS = [1, 2, 4, 8, 16]

  function field(label, control) {
    const box = document.createElement("label")
    box.append(label, " ", control)
    return box
  }

  function choice(options) {
    const select = document.createElement("select")
    for (const [value, text] of options) select.add(new Option(text, value))
    return select
  }

  function value(row, column) {
    const cell = row.cells[column]
    if (cell.dataset.value === "") return null
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim().toLowerCase()
  }

  /* What is no number comes last, whichever way the rest is sorted. */
  function compared(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null)
    if (typeof a === "number") return sign * (a - b)
    return sign * a.localeCompare(b, "en", { numeric: true })
  }

  /* Rising, falling, and back to the groups. */
  function sort(head, column) {
    const next = { none: "ascending", ascending: "descending", descending: "none" }
    const now = next[head.ariaSort ?? "none"]
    for (const other of table.tHead.rows[0].cells) other.ariaSort = "none"
    head.ariaSort = now
    if (now === "none") return body.append(...order)
    const sign = now === "ascending" ? 1 : -1
    const sorted = [...rows].sort((a, b) => compared(value(a, column), value(b, column), sign))
    body.append(...sorted, ...groups)
  }

  function start() {
    const gpus = Object.entries(JSON.parse(table.dataset.gpus))
    const text = Object.assign(document.createElement("input"), { type: "search", placeholder: "part of a name" })
    const kind = choice(Object.entries(KINDS))
    const gpu = choice([["", "any GPU"], ...gpus])
    const count = choice(COUNTS.map(one => [one, `at most ${one}`]))
    count.value = "16"
    const told = document.createElement("output")
    const form = document.createElement("form")
    form.className = "models-filter"
    form.append(field("Name", text), field("Kind", kind), field("Starts on", count), field("×", gpu), told)
    form.addEventListener("submit", event => event.preventDefault())

    function shown(row) {
      const fewest = row.dataset.fewest.split(" ").map(Number)
      const at = gpus.findIndex(([name]) => name === gpu.value)
      const enough = at < 0 ? fewest : [fewest[at]]
      return row.cells[0].textContent.toLowerCase().includes(text.value.trim().toLowerCase())
        && (!kind.value || row.dataset.kinds.split(" ").includes(kind.value))
        && enough.some(one => one > 0 && one <= Number(count.value))
    }

    function filter() {
      for (const row of rows) row.hidden = !shown(row)
      const sorted = [...table.tHead.rows[0].cells].some(one => one.ariaSort && one.ariaSort !== "none")
      for (const group of groups) {
        const name = group.textContent
        group.hidden = sorted || !rows.some(row => row.dataset.family === name && !row.hidden)
      }
      told.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} models`
    }

    for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
      const button = Object.assign(document.createElement("button"), { type: "button" })
      button.append(...head.childNodes)
      button.addEventListener("click", () => { sort(head, column); filter() })
      head.append(button)
      head.ariaSort = "none"
    }
    form.addEventListener("input", filter)
    ;(table.closest(".table-box, .md-typeset__scrollwrap") ?? table).before(form)
    filter()
  }

  if (table) start()
}
