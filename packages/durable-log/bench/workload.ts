/** What is appended by the benchmarks: an entry of ordinary size in one stream. */
export const STREAM = 'graph/0197c4a2-8f0e-7d31-b2a5-6f4e9d1c0b7a'
export const ENTRY = {
  type: 'graph/claimed',
  data: {
    workId: 'work-17',
    claimId: 'claim-3',
    turnId: 'turn-9',
    runId: 'run-9',
    attempt: 1,
    note: 'x'.repeat(160),
  },
}
