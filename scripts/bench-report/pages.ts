/** The two pages of figures: `docs/performance.md`, and the same in Chinese. */
import type { Summary } from './rounds.ts'

export interface Run {
  readonly summaries: readonly Summary[]
  readonly rounds: number
  /** Such as `2x AMD EPYC, 23.5 GiB, linux 6.1`. */
  readonly machine: string
  /** Name and version of what was measured against. */
  readonly versions: Readonly<Record<string, string>>
  /** Load averages of one minute before and after. */
  readonly load: readonly [number, number]
}

interface PageWords {
  readonly head: readonly string[]
  readonly columns: readonly string[]
  readonly none: string
  readonly chart: (name: string) => string
  readonly about: (run: Run, met: number, all: number) => readonly string[]
}

const EN: PageWords = {
  head: [
    '# Performance',
    'English | [中文](performance.zh-CN.md)',
    'Every figure is a ratio over a baseline of the same process and the same run: a raw prepared `INSERT`, `p-queue`, a bare LangGraph `invoke`, a bare DSH agent. A ratio is a cost over the cost of the baseline, or a rate over its rate, as the row says. This page is written by the benches: do not edit it.',
  ],
  columns: ['figure', 'target', 'measured', 'least to greatest', 'p50, p95', 'baseline'],
  none: '–',
  chart: (name) =>
    `![${name}: how much of what is allowed each figure takes](images/performance-${name}.svg)`,
  about: ({ load, machine, rounds, versions }, met, all) => [
    `${met} of ${all} targets are met. Each bench ran ${rounds} times in a process of its own; the figure is that of the round in the middle, and "least to greatest" is how far the rounds lie apart.`,
    `Machine: ${machine}; load ${load[0].toFixed(2)} before and ${load[1].toFixed(2)} after. ${Object.entries(
      versions,
    )
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
    'To reproduce: `pnpm bench` prints the figures once, `pnpm bench:report` writes this page, `pnpm bench:report --check` compares with the committed baseline and fails where a figure is worse beyond noise. On a shared machine compare ratios, not times.',
  ],
}

const ZH: PageWords = {
  head: [
    '# 性能',
    '[English](performance.md) | 中文',
    '每个数字都是与同一进程、同一次运行中的基线之比：直接执行的预编译 `INSERT`、`p-queue`、直接调用的 LangGraph `invoke`、直接使用的 DSH agent。比值是开销与基线开销之比，或速率与基线速率之比，见各行。本页由基准测试生成，请勿手动编辑。',
  ],
  columns: ['数字', '目标', '实测', '最小到最大', 'p50、p95', '基线'],
  none: '–',
  chart: (name) => `![${name}：每个数字占允许值的多少](images/performance-${name}.svg)`,
  about: ({ load, machine, rounds, versions }, met, all) => [
    `${all} 个目标中达到了 ${met} 个。每个基准测试在独立进程中运行 ${rounds} 次；数字取居中一次的结果，“最小到最大”表示各次之间的差距。`,
    `机器：${machine}；负载运行前 ${load[0].toFixed(2)}，运行后 ${load[1].toFixed(2)}。${Object.entries(
      versions,
    )
      .map(([name, version]) => `${name} ${version}`)
      .join('，')}。`,
    '如何复现：`pnpm bench` 打印一次数字，`pnpm bench:report` 生成本页，`pnpm bench:report --check` 与提交的基线比较，若某个数字变差且超出噪声则失败。在共享机器上请比较比值，而不是时间。',
  ],
}

export const PAGES = [
  { file: 'performance.md', words: EN },
  { file: 'performance.zh-CN.md', words: ZH },
] as const

export function pageOf(run: Run, words: PageWords): string {
  const withTarget = run.summaries.filter(({ share }) => share !== undefined)
  const met = withTarget.filter(({ share = 0 }) => share <= 1).length
  const parts = [...words.head, ...words.about(run, met, withTarget.length)]
  for (const name of packagesOf(run.summaries)) {
    const rows = run.summaries.filter(({ figure }) => figure.package === name)
    parts.push(`## ${name}`)
    if (rows.some(({ share }) => share !== undefined)) parts.push(words.chart(name))
    const lines = [words.columns, words.columns.map(() => '---'), ...rows.map((row) => cellsOf(row, words))]
    parts.push(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'))
  }
  return `${parts.join('\n\n')}\n`
}

export function packagesOf(summaries: readonly Summary[]): readonly string[] {
  return [...new Set(summaries.map(({ figure }) => figure.package))].toSorted()
}

function cellsOf(
  { figure, greatest, key, least, share, target, value }: Summary,
  { none }: PageWords,
): readonly string[] {
  const unit = target === undefined || target.measure === 'ratio' ? '' : ` ${figure.unit}`
  const bound =
    target === undefined
      ? none
      : `${target.atMost === undefined ? '≥' : '≤'} ${target.atMost ?? target.atLeast}${unit}`
  const mark = share === undefined ? '' : share <= 1 ? ' ✓' : ' ✗'
  return [
    `\`${key.slice(figure.package.length + 1)}\``,
    bound,
    `${short(value)}${unit}${mark}`,
    `${short(least)} – ${short(greatest)}`,
    `${short(figure.median)}, ${short(figure.p95)} ${figure.unit}`,
    figure.baseline.replaceAll('|', '\\|'),
  ]
}

function short(value: number): string {
  return value === 0
    ? '0'
    : Number(value.toPrecision(3)).toLocaleString('en-US', { maximumSignificantDigits: 3 })
}
