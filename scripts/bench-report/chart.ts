/**
 * One chart for the figures with a target: how much of what is allowed each takes. A bar within the line
 * met its target; the scale is logarithmic, since some take a hundredth. Readable on light and on dark.
 */
import type { Summary } from './rounds.ts'

export interface ChartWords {
  readonly title: string
  /** At the line. */
  readonly allowed: string
}

const WIDTH = 860
const LEFT = 330
const RIGHT = 110
const ROW = 22
const TOP = 54
/** Shares from a hundredth to three times what is allowed. */
const [LOW, HIGH] = [0.01, 3]
const STEPS = [0.01, 0.1, 1]

export function chartOf(summaries: readonly Summary[], words: ChartWords): string {
  const rows = summaries.filter((summary) => summary.share !== undefined)
  const height = TOP + rows.length * ROW + 24
  const lines = STEPS.map((step) => {
    const x = xOf(step).toFixed(1)
    const kind = step === 1 ? 'limit' : 'grid'
    const label = step === 1 ? words.allowed : `${step * 100} %`
    return `<line class="${kind}" x1="${x}" y1="${TOP - 8}" x2="${x}" y2="${height - 18}"/><text class="small" x="${x}" y="${TOP - 14}" text-anchor="middle">${escaped(label)}</text>`
  })
  const bars = rows.map((row, index) => barOf(row, TOP + index * ROW))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(words.title)}">
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 14px; }
.small { font-size: 11px; fill: #57606a; }
.grid { stroke: #d0d7de; }
.limit { stroke: #57606a; stroke-dasharray: 4 3; }
.met { fill: #2da44e; }
.missed { fill: #cf222e; }
.spread { stroke: #24292f; stroke-width: 1.2; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .small { fill: #9da7b3; } .grid { stroke: #30363d; } .limit { stroke: #9da7b3; }
.met { fill: #3fb950; } .missed { fill: #f85149; } .spread { stroke: #e6edf3; }
}
</style>
<text class="title" x="12" y="20">${escaped(words.title)}</text>
${lines.join('\n')}
${bars.join('\n')}
</svg>
`
}

function barOf({ key, least, greatest, share = 0, target, value }: Summary, y: number): string {
  const end = xOf(share)
  const isMet = share <= 1
  // The share is in the ratio of the values, whichever way is better.
  const flip = target?.atMost === undefined
  const ends = [least, greatest].map((bound) => xOf(flip ? (share * value) / bound : (share * bound) / value))
  const [from = end, to = end] = ends.toSorted((one, other) => one - other)
  const mark = isMet ? '✓' : '✗'
  return [
    `<text x="${LEFT - 8}" y="${y + 12}" text-anchor="end">${escaped(key)}</text>`,
    `<rect class="${isMet ? 'met' : 'missed'}" x="${LEFT}" y="${y + 2}" width="${Math.max(1, end - LEFT).toFixed(1)}" height="12" rx="2"/>`,
    `<line class="spread" x1="${from.toFixed(1)}" y1="${y + 8}" x2="${to.toFixed(1)}" y2="${y + 8}"/>`,
    `<text class="small" x="${WIDTH - RIGHT + 12}" y="${y + 12}">${mark} ${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %</text>`,
  ].join('')
}

function xOf(share: number): number {
  const within = Math.min(HIGH, Math.max(LOW, share))
  const place = Math.log(within / LOW) / Math.log(HIGH / LOW)
  return LEFT + place * (WIDTH - LEFT - RIGHT)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
