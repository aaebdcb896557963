/** What the steps of a track mean together: none is out of reach, none needs a value that nobody captures. */
import type { Path, Problems } from './problems.ts'
import { namesIn, namesInJson } from './templates.ts'
import type { Step, Track } from './types.ts'

/** Refuses steps that can never be played, and keys that mean nothing in this kind of track. */
export function checkReach(track: Track, path: Path, problems: Problems): void {
  for (const [index, step] of track.steps.entries()) {
    if (track.stateless && step.repeat) {
      problems.add([...path, index, 'repeat'], 'every step of a stateless track repeats; leave it out')
    }
    const takesAll = step.when === undefined && (track.stateless || step.repeat)
    if (takesAll && index < track.steps.length - 1) {
      problems.add([...path, index], 'holds always, so that no later step is ever played; give it a when')
    }
  }
}

/** Refuses templates with a name that no step captures in time. */
export function checkNames(track: Track, path: Path, problems: Problems): void {
  const captured = new Set<string>()
  const add = (step: Step) => step.captures.forEach((capture) => captured.add(capture.name))
  if (track.stateless) track.steps.forEach(add)
  for (const [index, step] of track.steps.entries()) {
    add(step)
    const places: (readonly [string, readonly string[]])[] = [
      ['text', namesIn(step.text ?? [])],
      ['reasoning', namesIn(step.reasoning ?? [])],
      ['toolCalls', step.toolCalls.flatMap((call) => namesInJson(call.arguments))],
    ]
    for (const [key, names] of places) {
      for (const name of new Set(names)) {
        if (captured.has(name)) continue
        const where = track.stateless ? 'step of this track' : 'step up to this one'
        problems.add([...path, index, key], `the template \${${name}} has no value: no ${where} captures it`)
      }
    }
  }
}
