/** Times as people read them. */

/** `350ms`, `4.2s`, `3m 05s`, `2h 04m`, `3d 02h`. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole}ms`
  const seconds = whole / 1_000
  if (seconds < 59.95) return `${seconds.toFixed(1)}s`
  const total = Math.round(seconds)
  if (total < 3_600) return `${Math.floor(total / 60)}m ${two(total % 60)}s`
  if (total < 86_400) return `${Math.floor(total / 3_600)}h ${two(Math.floor((total % 3_600) / 60))}m`
  return `${Math.floor(total / 86_400)}d ${two(Math.floor((total % 86_400) / 3_600))}h`
}

/** Date and time of this machine's zone, to the second. */
export function timeText(at: number): string {
  const time = new Date(at)
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  return `${date} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
