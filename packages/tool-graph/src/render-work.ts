/** One work as text: a line with all that it says of itself, and what it left as delimited data. */
import { dataBlock, escapeData } from './data-text.ts'
import type { WorkView } from './work-view.ts'

const DEFAULT_TARGET = 'agent:default'

export function renderWork(work: WorkView): string {
  const { workId, status, title, instruction, inputIds, waitsFor, items, reason, replacedBy } = work
  const head = [
    `- ${escapeData(workId)} [${status}${attemptOf(work)}]`,
    ` ${escapeData(title ?? instruction ?? '')}`,
    work.target === DEFAULT_TARGET ? '' : `; by ${escapeData(work.target)}`,
    inputIds === undefined ? '' : `; inputs ${escapeData(inputIds.join(', '))}`,
    items === undefined ? '' : `; ${items.total - items.pending}/${items.total} items`,
    waitsFor === undefined ? '' : `; waits for ${escapeData(waitsFor.join(', '))}`,
    reason === undefined ? '' : ` (${escapeData(reason)})`,
    replacedBy === undefined ? '' : `; replaced by ${escapeData(replacedBy)}`,
  ].join('')
  const results = work.results ?? []
  const blocks = results.map((result) =>
    dataBlock(
      'summary',
      {
        // The work's own id gives its conclusion; of several records each is named.
        ...(results.length === 1 ? {} : { record: result.recordId }),
        ...(result.name === undefined ? {} : { name: result.name }),
        bytes: String(result.bytes),
      },
      result.summary,
    ),
  )
  const more = work.moreResults === undefined ? [] : [`  … ${work.moreResults} more records`]
  return [head, ...blocks, ...more].join('\n')
}

function attemptOf({ claim }: WorkView): string {
  if (claim === undefined || claim.attempt <= 1) return ''
  const why = claim.retryReason === undefined ? '' : ` after ${escapeData(claim.retryReason)}`
  return `, attempt ${claim.attempt}${why}`
}
