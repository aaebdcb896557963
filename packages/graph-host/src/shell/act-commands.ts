/**
 * The commands that change something. Where a host runs they go through it; where none does, only
 * `--write` lets them touch the database, and whoever runs next acts on it.
 */
import { recordSupervision } from 'dsh-tool-graph'
import { callHost, type DoorAnswer } from '../door/door-client.ts'
import type { RunningHost } from '../door/run-file.ts'
import { PersonActs } from '../person-acts.ts'
import { wrongUse, type ShellRequest } from './arguments.ts'
import { isThere } from './database.ts'
import { findGraph, openGraphFile, type GraphFile } from './graph-file.ts'
import type { Places } from './places.ts'
import type { Answer } from './read-commands.ts'
import { EXIT, ShellError } from './shell-error.ts'

/** An act as a host is asked for it, and as it is done where none runs. */
interface Act {
  readonly operation: string
  readonly args: object
  readonly perform: (file: GraphFile) => Promise<string>
}

export const ACTS: ReadonlySet<string> = new Set(['stop', 'retry', 'confirm', 'on', 'off'])

export async function act(request: ShellRequest, places: Places): Promise<Answer> {
  const { command } = request
  const asked = command === 'on' || command === 'off' ? switchOf(request) : await actOf(request, places)
  const text = (await throughHost(asked, places.hosts())) ?? (await onFile(asked, request, places))
  return { document: { text }, lines: [text] }
}

function switchOf({ command, words }: ShellRequest): Act {
  const [sessionId] = words
  if (sessionId === undefined || words.length > 1) throw wrongUse(`${command} needs one session`)
  const supervised = command === 'on'
  return {
    operation: 'supervise',
    args: { sessionId, supervised },
    perform: async ({ log }) => {
      await recordSupervision(log, sessionId, supervised)
      return `supervision of ${sessionId} is ${command} from its next start`
    },
  }
}

async function actOf({ command, reason, words }: ShellRequest, places: Places): Promise<Act> {
  const [meant, target] = words
  if (meant === undefined || target === undefined || words.length > 2)
    throw wrongUse(`${command} needs a graph and a work${command === 'stop' ? ', or "all"' : ''}`)
  const graphId = await graphIdOf(meant, places)
  const verb = command as 'stop' | 'retry' | 'confirm'
  return {
    operation: verb,
    args: { graphId, target, ...(reason === undefined ? {} : { reason }) },
    perform: ({ store }) =>
      new PersonActs(store)[verb](graphId, target, ...(reason === undefined ? [] : [reason])),
  }
}

/** A host may keep its graphs elsewhere, so an id that no file here explains is left to it. */
async function graphIdOf(meant: string, { database, hosts }: Places): Promise<string> {
  if (!isThere(database) && hosts().length > 0) return meant
  const file = await openGraphFile(database, true)
  try {
    return await findGraph(file.store, meant)
  } catch (error) {
    if (error instanceof ShellError && error.exitCode === EXIT.missing && hosts().length > 0) return meant
    throw error
  } finally {
    await file.close()
  }
}

/** The first host that has the graph does it. `undefined`: none runs. */
async function throughHost(
  { args, operation }: Act,
  hosts: readonly RunningHost[],
): Promise<string | undefined> {
  let refusal: ShellError | undefined
  for (const host of hosts) {
    const answer = await call(host, operation, args)
    if (answer.ok) return (answer.value as { readonly text: string }).text
    const { code, message } = answer.error
    if (refusal === undefined || refusal.code === 'unknown-graph' || refusal.code === 'host-silent')
      refusal = new ShellError(exitOf(code), code, message)
    if (code !== 'unknown-graph' && code !== 'host-silent') break
  }
  if (refusal !== undefined) throw refusal
  return undefined
}

async function call(host: RunningHost, operation: string, args: object): Promise<DoorAnswer> {
  try {
    return await callHost(host, operation, args)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {
      ok: false,
      error: { code: 'host-silent', message: `host ${host.process.pid} does not answer: ${why}` },
    }
  }
}

function exitOf(code: string): typeof EXIT.missing | typeof EXIT.noHost | typeof EXIT.refused {
  if (code === 'unknown-graph' || code === 'unknown-work') return EXIT.missing
  return code === 'host-silent' ? EXIT.noHost : EXIT.refused
}

async function onFile(
  { perform }: Act,
  { command, write }: ShellRequest,
  { database }: Places,
): Promise<string> {
  if (!write)
    throw new ShellError(
      EXIT.noHost,
      'no-host',
      `no host runs on this home, so nobody can ${command}; start DSH, or write to the database with --write`,
    )
  const file = await openGraphFile(database, false)
  try {
    return await perform(file)
  } finally {
    await file.close()
  }
}
