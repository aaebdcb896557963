/**
 * Vocabulary of the package: what an author declares, what a caller passes, what the registry lists.
 * Graphs are described by shape, so that no LangChain module is needed, neither at run time nor in
 * these types, and builders of any copy of LangGraph fit.
 */
import type {
  JsonValue,
  ParameterJsonSchema,
  ParameterSchemaSpec,
  ToolDefinition,
  ToolExecution,
  ValueSchemaSpec,
} from '@deepseek-ai/dsh-tools'

/** Anything that runs as a graph: a compiled LangGraph graph, an entrypoint, or an object of your own. */
export interface GraphInvocable {
  /** Runs the graph once on `input`; resolves to its final state, and observes `config.signal`. */
  invoke(input: unknown, config?: object): Promise<unknown>
}

/** An uncompiled LangGraph builder, for example a `StateGraph`. */
export interface GraphBuilder {
  /** Called without arguments, at the first call of the tool. */
  compile(): GraphInvocable
}

/** What a graph can be made from. */
export type GraphLike = GraphBuilder | GraphInvocable

/** The agent on whose behalf a call runs. */
export type CallingAgent = NonNullable<ToolExecution['agent']>

/** What `validate` is told besides the input. */
export interface GraphValidationContext {
  /** The tool's name. */
  readonly tool: string
  /** The original request text. Only there when the call was routed. */
  readonly request?: string
}

/** `false`, a reason, or a throw rejects; anything else passes. */
export type GraphVerdict = boolean | string | undefined | void | null

/** Judges the input after the schema did and before the graph runs. It receives a copy. */
export type GraphValidate = (
  input: unknown,
  context: GraphValidationContext,
) => GraphVerdict | Promise<GraphVerdict>

/** What `threadId` and `output` functions are told besides the value. */
export interface GraphCallContext extends GraphValidationContext {
  /** The calling agent, if there is one. */
  readonly agent?: CallingAgent
  /** Id of the calling agent's session. */
  readonly sessionId?: string
}

/** A thread key, or a function that picks one per call; `undefined` runs without a thread. */
export type GraphThreadId = string | ((input: unknown, context: GraphCallContext) => string | undefined)

/** Makes the result out of the final state, which is passed as the graph left it. */
export type GraphOutput = (state: unknown, context: GraphCallContext) => unknown

/** Parameters derived from the graph's own schema, restricted to these keys. */
export interface GraphParameterPick {
  readonly pick: readonly string[]
}

/**
 * Where the parameters come from: `'auto'` derives them from the graph's own zod or `StateSchema`
 * input and falls back to one `input`, `'input'` is that one parameter, a spec is the author's own.
 */
export type GraphParametersOption = 'auto' | 'input' | GraphParameterPick | ParameterSchemaSpec

/** How a graph is offered and run. Shared by definitions and by plain conversion. */
export interface GraphSettings {
  /** Model-facing description. Default: the compiled graph's own, else one made from its structure. */
  readonly description?: string
  /** The tool's parameters. With anything but one `input` the whole argument object is the graph input. Default: `'auto'`. */
  readonly parameters?: GraphParametersOption
  /** Judges the input before the graph runs. Default: everything passes. */
  readonly validate?: GraphValidate
  /** Forwarded as `thread_id`. Whether that gives the graph a memory is up to its own checkpointer. */
  readonly threadId?: GraphThreadId
  /** Gives each call a thread of its own, deleted from the checkpointer afterwards. Default: `false`. */
  readonly ephemeralThread?: boolean
  /** `'thread'` lets calls on one thread wait for each other. Default: they overlap, and the last write wins. */
  readonly serialize?: 'thread'
  /** Further `configurable` keys, forwarded as they are. */
  readonly configurable?: Readonly<Record<string, unknown>>
  /** Forwarded as LangGraph's `context`, a plain object. */
  readonly context?: Readonly<Record<string, unknown>>
  /** Forwarded as LangGraph's `durability`: when checkpoints are written. */
  readonly durability?: 'exit' | 'async' | 'sync'
  /** Forwarded as LangGraph's `store`. */
  readonly store?: object
  /** Cooperative time budget of one call in milliseconds; at expiry the graph's signal aborts. */
  readonly timeoutMs?: number
  /** Largest number of supersteps of one call. Default: the graph's own. */
  readonly recursionLimit?: number
  /** Lets a call made inside another graph's node take over that graph's config. Default: `false`. */
  readonly inherit?: boolean
  /** Fills declared `default` values into absent arguments. Default: `false`, as DSH does. */
  readonly applyDefaults?: boolean
  /**
   * Lets an aborted call end only when the nodes that run have ended. LangGraph is then asked to stop
   * after them (`config.control.drainRequested`), and their `config.signal` does not abort. Without it
   * what ignores the abort is left behind after five seconds. Default: `false`.
   */
  readonly drain?: boolean
  /** Makes the result out of the final state. Default: the state. */
  readonly output?: GraphOutput
  /** Keeps only these keys of the final state. Not together with `output`. */
  readonly resultKeys?: readonly string[]
  /** The result's schema as DSH declares values; a result that breaks it is an error. Default: any JSON. */
  readonly outputSchema?: ValueSchemaSpec
  /** Longest result text the model sees, in characters; the rest is cut with a note. Default: no limit. */
  readonly maxResultChars?: number
  /** How often a call may ask a person before it gives up. Default: 20. */
  readonly questionRounds?: number
  /** What to do with object properties of the result that are `undefined`. Default: `'reject'`. */
  readonly undefinedValues?: 'reject' | 'omit'
  /** Whether calls of this tool may overlap with sibling calls. Default: `false`. */
  readonly concurrencySafe?: boolean
}

/** What `defineGraph` and `createGraphDefinition` take. */
export interface GraphDefinitionOptions extends GraphSettings {
  /** The graph's name, the tool's name and the registry key: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string
  /** Makes the builder or the compiled graph; called at most once unless it fails. May be async. */
  readonly build: () => GraphLike | Promise<GraphLike>
  /** Registers a model-visible DSH tool. Default: `false`. */
  readonly asTool?: boolean
  /** Lists the graph in `ctx.graphTools`. Default: `true`. */
  readonly asGraphTool?: boolean
  /** Lets agent graphs run this graph as an operator; they look it up in `ctx.graphTools`. Default: `false`. */
  readonly asOperator?: boolean
  /** Takes the place of an earlier published definition of the same name. Default: `false`. */
  readonly replace?: boolean
}

/** Options of `register`, `create` and `createGraphTool`; `name` is required unless the graph has one. */
export interface GraphToolOptions extends GraphSettings {
  readonly name?: string
}

/** A graph with its declaration. Made by `defineGraph` or `createGraphDefinition`, never by hand. */
export interface GraphDefinition extends GraphSettings {
  readonly name: string
  readonly build: () => GraphLike | Promise<GraphLike>
  readonly asTool: boolean
  readonly asGraphTool: boolean
  readonly asOperator: boolean
}

/** A definition that mounts by itself wherever the plugin is live. */
export interface PublishedGraphDefinition extends GraphDefinition {
  /** Takes the definition back: it is unmounted everywhere and does not come back. Idempotent. */
  dispose(): void
}

/** One key of a graph's state. */
export interface GraphStateKey {
  readonly name: string
  /** Whether writes add up through a reducer instead of replacing each other. */
  readonly accumulated: boolean
}

/** What can be read off a graph without compiling it. */
export interface GraphShape {
  /** Node names in definition order, LangGraph's own hidden nodes left out. */
  readonly nodes: readonly string[]
  /** State keys in definition order; empty for a graph whose state is one value. */
  readonly stateKeys: readonly GraphStateKey[]
  /** Whether the state is one value without keys. */
  readonly rootState: boolean
}

/** The circumstances of one call. */
export interface GraphCall {
  /** Cancels the call; its reason reaches the graph. */
  readonly signal?: AbortSignal
  /** The original request text, when a router chose the graph. */
  readonly request?: string
  /** The agent on whose behalf the call runs. */
  readonly agent?: CallingAgent
  /** Id of the tool call, where there is one; progress events carry it. */
  readonly callId?: string
  /**
   * The same for each repetition of what is one deed, also after a crash: nodes find it as
   * `config.configurable.idempotencyKey` and hand it on to whatever must not be done twice.
   */
  readonly idempotencyKey?: string
}

/** A mounted or registered graph. Frozen. */
export interface GraphEntry {
  readonly name: string
  readonly description: string
  /** The model-facing JSON schema of the arguments. */
  readonly parameters: ParameterJsonSchema
  /** The graph as a DSH tool; registered in `ctx.tools` only if its definition says `asTool`. */
  readonly tool: ToolDefinition
  /** The definition it was mounted from; absent for `register`. */
  readonly definition?: GraphDefinition
  /** The graph's structure, as far as it had to be read. */
  readonly shape?: GraphShape
  /** Whether agent graphs may run it as an operator. */
  readonly asOperator: boolean
  /**
   * Violations of the argument schema and of the graph's own, each with its path; empty means that a
   * call would be accepted. What the graph's own schema checks asynchronously, `run` alone finds.
   */
  check(args: unknown): readonly string[]
  /**
   * Runs the graph once, as a tool call does, without the `ctx.tools` pipeline.
   *
   * @returns the final state, lossless JSON.
   * @throws {ToolArgsError} arguments that break the schema; {@link GraphError} for what else this
   *   package refuses; the graph's own error unchanged.
   */
  run(args: unknown, call: GraphCall): Promise<JsonValue>
  /** Unmounts: off the registry and off `ctx.tools` at once; resolves when running calls have ended. */
  dispose(): Promise<void>
}
