/**
 * What the graph tools cost in every request of a session that has them: the tokens (o200k) of the
 * three tool schemas as they are sent, and of the prompt section.
 *
 * `node packages/tool-graph/cost/model-cost.ts` prints them.
 */
import { parameterSchemaSpecToJsonSchema, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { getEncoding } from 'js-tiktoken'
import {
  UPDATE_DESCRIPTION,
  UPDATE_PARAMETERS,
  UPDATE_TOOL,
  VIEW_DESCRIPTION,
  VIEW_PARAMETERS,
  VIEW_TOOL,
  YIELD_DESCRIPTION,
  YIELD_PARAMETERS,
  YIELD_TOOL,
} from '../src/schemas.ts'
import { buildGraphModePromptSection, GRAPH_SECTION_NAME } from '../src/section.ts'

/** Tokens by what they pay for, and all together under `total`. */
export function modelCost(): Readonly<Record<string, number>> {
  const encoding = getEncoding('o200k_base')
  const tokens = (text: string): number => encoding.encode(text).length
  const tool = (name: string, description: string, spec: ParameterSchemaSpec): number =>
    tokens(JSON.stringify({ name, description, parameters: parameterSchemaSpecToJsonSchema(spec) }))
  const section = buildGraphModePromptSection().text
  const parts = {
    [VIEW_TOOL]: tool(VIEW_TOOL, VIEW_DESCRIPTION, VIEW_PARAMETERS),
    [UPDATE_TOOL]: tool(UPDATE_TOOL, UPDATE_DESCRIPTION, UPDATE_PARAMETERS),
    [YIELD_TOOL]: tool(YIELD_TOOL, YIELD_DESCRIPTION, YIELD_PARAMETERS),
    [GRAPH_SECTION_NAME]: tokens(typeof section === 'string' ? section : ''),
  }
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) }
}

if (import.meta.main) {
  for (const [what, tokens] of Object.entries(modelCost()))
    console.log(`${String(tokens).padStart(6)}  ${what}`)
}
