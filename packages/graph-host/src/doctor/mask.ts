/**
 * Makes a text fit to be shown to strangers: secrets and the paths of a person's home are taken out.
 * Rather too much than too little: what merely looks like a key goes as well.
 */
import { homedir } from 'node:os'
import { resolveDshHome } from '@deepseek-ai/dsh-home-paths'

type Environment = Readonly<Record<string, string | undefined>>

const MASK = '***'
const SECRET_NAME = /(?:key|token|secret|password|passwd|credential|auth)/iu
const SHORTEST_SECRET = 6

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // user:password@ in an address
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/giu, `$1${MASK}@`],
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/giu, `$1 ${MASK}`],
  [
    /\b([\w-]*(?:api[-_]?key|token|secret|password|passwd|authorization|credential)s?)(["']?\s*[:=]\s*["']?)[^\s"',;&]+/giu,
    `$1$2${MASK}`,
  ],
  // In the query of an address
  [/([?&](?:key|sig|signature|code|auth)=)[^&\s"'#]+/giu, `$1${MASK}`],
  // Keys by their look: sk-…, ghp_…, npm_…, xoxb-…, AKIA…, AIza…, JSON web tokens
  [/\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|npm|hf|xox[abprs])[-_][\w-]{8,}/gu, MASK],
  [/\bAKIA[0-9A-Z]{12,}\b/gu, MASK],
  [/\bAIza[\w-]{20,}/gu, MASK],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gsu, MASK],
  [/\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*/gu, MASK],
]

/** @param environment its secrets are masked wherever their values stand. */
export function maskText(text: string, environment: Environment = process.env): string {
  let masked = text
  for (const secret of secretsOf(environment)) masked = masked.replaceAll(secret, MASK)
  for (const [pattern, replacement] of PATTERNS) masked = masked.replaceAll(pattern, replacement)
  return maskHomes(masked, environment)
}

/** Longest first, so that none is cut by another that it contains. */
function secretsOf(environment: Environment): readonly string[] {
  return Object.entries(environment)
    .flatMap(([name, value]) =>
      value !== undefined && SECRET_NAME.test(name) && value.length >= SHORTEST_SECRET ? [value] : [],
    )
    .sort((a, b) => b.length - a.length)
}

function maskHomes(text: string, environment: Environment): string {
  const dshHome = resolveDshHome(undefined, { ...environment })
  const isOwn = (environment['DSH_HOME'] ?? '').trim() !== ''
  let masked = isOwn ? text.replaceAll(dshHome, '$DSH_HOME') : text
  const home = homedir()
  if (home.length > 1) masked = masked.replaceAll(home, '~')
  // Other people's homes, and one's own on another machine.
  return masked.replaceAll(/((?:\/home\/|\/Users\/|[A-Za-z]:\\Users\\))[^/\\\s:"']+/gu, `$1${MASK}`)
}
