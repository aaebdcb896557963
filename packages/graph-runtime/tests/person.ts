/** DSH's own optional services in a test host, and a person who answers by a script. */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Context, Plugin } from '@deepseek-ai/cordis'
import type { Answers, Person } from '../src/person.ts'

const dsh = createRequire(createRequire(import.meta.url).resolve('@deepseek-ai/dsh/package.json'))

/** A plugin that DSH ships and that is none of the package's dependencies. */
export async function hostPlugin(name: string): Promise<Plugin> {
  const url = pathToFileURL(dsh.resolve(`@deepseek-ai/${name}`)).href
  return ((await import(url)) as { default: Plugin }).default
}

export type Asked = Parameters<Person['ask']>[0]

interface QuestionService extends Person {
  registerProvider(provider: { ask(request: Asked): Promise<Answers> }): () => void
}

/** Loads DSH's `ctx.userQuestions`; without `answer` nobody is there to answer. */
export async function loadQuestions(
  ctx: Context,
  answer?: (request: Asked) => Promise<Answers> | Answers,
): Promise<void> {
  await ctx.plugin(await hostPlugin('dsh-user-questions'), undefined as never)
  if (answer === undefined) return
  const service = ctx.get('userQuestions') as unknown as QuestionService
  service.registerProvider({ ask: async (request) => await answer(request) })
}

/** Answers each question by what `pick` says to it: a label to select, or text to type. */
export function answering(
  pick: (
    question: Asked['questions'][number],
    round: number,
  ) => string | readonly string[] | { custom: string },
): { asked: Asked[]; answer: (request: Asked) => Answers } {
  const asked: Asked[] = []
  return {
    asked,
    answer(request) {
      asked.push(request)
      return {
        answers: request.questions.map((question) => {
          const picked = pick(question, asked.length)
          if (typeof picked === 'object' && 'custom' in picked)
            return { id: question.id, selected: [], ...picked }
          return { id: question.id, selected: typeof picked === 'string' ? [picked] : picked }
        }),
      }
    },
  }
}
