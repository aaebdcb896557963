/** Gates that hold an operator at work until the test opens them: the outside world of a tool call. */
import { defineTool } from '@deepseek-ai/dsh-tools'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { until } from './until.ts'

interface Gate {
  readonly opened: Promise<string>
  readonly open: (text: string) => void
}

export class Gates {
  /** Names of the gates that somebody stands at, once for each call, in the order of arrival. */
  readonly arrivals: string[] = []
  /** Names of the gates at which a call was cancelled. */
  readonly cancelled: string[] = []
  private readonly gates = new Map<string, Gate>()

  /** Lets everyone through, also those who come later; the tool answers `text`. */
  open(name: string, text = `through ${name}`): void {
    this.gate(name).open(text)
  }

  /** Resolves when somebody stood at the gate this many times. */
  async reached(name: string, times = 1): Promise<void> {
    await until(
      () => this.arrivals.filter((arrival) => arrival === name).length >= times,
      `gate ${name} reached ${times} times`,
    )
  }

  /** The tool `gate`, for every session. */
  tool(): ToolDefinition {
    return defineTool({
      name: 'gate',
      description: 'Waits at a gate.',
      parameters: { name: { type: 'string', required: true } },
      output: {
        schema: { type: 'string' },
        render: (_args, text) => [{ type: 'text', text }],
      },
      execute: ({ name }, { signal }) => {
        this.arrivals.push(name)
        return new Promise<string>((resolve, reject) => {
          const onAbort = () => {
            this.cancelled.push(name)
            reject(signal.reason as Error)
          }
          if (signal.aborted) return onAbort()
          signal.addEventListener('abort', onAbort, { once: true })
          void this.gate(name).opened.then(resolve)
        })
      },
    })
  }

  private gate(name: string): Gate {
    let gate = this.gates.get(name)
    if (gate === undefined) {
      const { promise, resolve } = Promise.withResolvers<string>()
      this.gates.set(name, (gate = { opened: promise, open: resolve }))
    }
    return gate
  }
}
