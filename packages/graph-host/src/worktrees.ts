/**
 * A git worktree of its own for an operator that wants one, on a generated branch.
 *
 * A worktree lives from the operator's first run until its run has ended; what was done stands on the
 * branch then, and in the patch that is reported. Each stands in a folder of ours, beside a note that
 * says whose it is. Owns: allocating (one at a time per repository), releasing, reclaiming. Does not
 * own: the binding, which the store keeps, nor what becomes of a branch.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { isAbsolute, join, resolve, sep } from 'node:path'
import type { GraphControl } from 'dsh-graph-control'
import { GraphHostError, textOfError } from './errors.ts'
import { git, gitAccepts } from './git.ts'

/** Whose a worktree is. */
export interface WorktreeOwner {
  readonly graphId: string
  readonly provisionId: string
  readonly operatorId: string
}

/** What is known of a worktree, there or not. */
export interface Worktree extends WorktreeOwner {
  /** The repository of the root. */
  readonly repository: string
  readonly path: string
  readonly branch: string
  readonly baseCommit: string
  /** Files that the root has changed and not committed: they are not in the worktree. */
  readonly dirtyFiles: number
}

export interface WorktreeReport {
  readonly patch: string
  readonly branch: string
}

const NOTE = 'worktree.json'
/** Nothing that the repository configures runs for a diff. */
const PLAIN = ['--no-ext-diff', '--no-textconv']

export class Worktrees {
  private readonly store: GraphControl
  private readonly folder: string
  private readonly queues = new Map<string, Promise<unknown>>()

  /** @param folder absolute; made when it is needed. */
  constructor(store: GraphControl, folder: string) {
    this.store = store
    this.folder = folder
  }

  /**
   * The worktree of an operator, made if it is not there. The same operator gets the same one.
   *
   * @param cwd of the root session.
   * @throws GraphHostError `no-repository`, `git-failed`.
   */
  async allocate(owner: WorktreeOwner, cwd: string | undefined): Promise<Worktree> {
    const known = await this.noteOf(owner)
    const repository = known?.repository ?? (await repositoryOf(cwd))
    return this.oneAtATime(repository, async () => {
      const worktree = known ?? (await this.plan(owner, repository))
      const { baseCommit, branch, dirtyFiles: _, graphId, path, provisionId } = worktree
      await this.store.bindOperatorWorktree({
        graphId,
        provisionId,
        leaseKey: this.keyOf(owner),
        path,
        branch,
        baseCommit,
      })
      if (!(await exists(path))) await this.add(worktree)
      await this.requireInside(path)
      return worktree
    })
  }

  /** The worktree of an operator that had one; its folder may be gone. */
  async noteOf(owner: WorktreeOwner): Promise<Worktree | undefined> {
    const note = await readNote(join(this.folder, this.keyOf(owner)))
    return note !== undefined && this.isOurs(note) && note.graphId === owner.graphId ? note : undefined
  }

  /**
   * Brings what was done onto the branch and takes the worktree away. May be repeated: what an earlier
   * release did is reported again.
   */
  release(worktree: Worktree, message: string): Promise<WorktreeReport> {
    const { baseCommit, branch, path, repository } = worktree
    return this.oneAtATime(repository, async () => {
      if (await exists(path)) {
        // Not the one that the worktree's own file names: the operator could have changed it.
        const inside = [`--git-dir=${await gitDirOf(worktree)}`, `--work-tree=${path}`]
        await git(repository, ...inside, 'add', '--all')
        if (!(await gitAccepts(repository, ...inside, 'diff', '--cached', '--quiet', ...PLAIN)))
          await git(repository, ...inside, 'commit', '--quiet', '--no-verify', '--message', message)
        await git(repository, 'worktree', 'remove', '--force', path)
      }
      await git(repository, 'worktree', 'prune')
      return { branch, patch: await git(repository, 'diff', '--binary', ...PLAIN, baseCommit, branch) }
    })
  }

  /**
   * Releases what nobody works in any more: of graphs that are finished or gone, and of operators
   * without a live activation.
   *
   * @returns the branches that were kept.
   */
  async reclaim(warn: (text: string) => void): Promise<readonly string[]> {
    const branches: string[] = []
    const places = await readdir(this.folder).catch(() => [])
    for (const place of places) {
      try {
        const worktree = await readNote(join(this.folder, place))
        if (
          worktree === undefined ||
          !this.isOurs(worktree) ||
          !(await exists(worktree.path)) ||
          (await this.isInUse(worktree))
        )
          continue
        branches.push((await this.release(worktree, 'What an operator left')).branch)
      } catch (error) {
        warn(`the worktree ${place} could not be reclaimed: ${textOfError(error)}`)
      }
    }
    return branches
  }

  private async isInUse({ graphId, operatorId }: WorktreeOwner): Promise<boolean> {
    return (await this.store.readGraph(graphId))?.live.busyOperators.has(operatorId) === true
  }

  private async plan(owner: WorktreeOwner, repository: string): Promise<Worktree> {
    const head = await git(repository, 'rev-parse', '--verify', 'HEAD^{commit}').catch((error: unknown) => {
      throw new GraphHostError('no-repository', `${repository} has no commit to work from`, { cause: error })
    })
    const bound = await this.store.readOperatorBinding(owner.graphId, owner.provisionId)
    const changed = await git(repository, 'status', '--porcelain', '--ignore-submodules')
    const worktree: Worktree = {
      ...owner,
      ...this.namesOf(owner),
      repository,
      baseCommit: bound?.baseCommit ?? head.trim(),
      dirtyFiles: changed.split('\n').filter((line) => line !== '').length,
    }
    const place = join(this.folder, this.keyOf(owner))
    await mkdir(place, { recursive: true, mode: 0o700 })
    await writeFile(join(place, NOTE), JSON.stringify({ v: 1, ...worktree }), { mode: 0o600 })
    return worktree
  }

  private async add({ baseCommit, branch, path, repository }: Worktree): Promise<void> {
    await git(repository, 'worktree', 'prune')
    const isKnown = await gitAccepts(repository, 'show-ref', '--verify', '--quiet', `refs/heads/${branch}`)
    const how = isKnown ? [path, branch] : ['-b', branch, path, baseCommit]
    await git(repository, 'worktree', 'add', '--quiet', ...how)
  }

  /** The path is ours by construction; a link on its way would lead out of the folder. */
  private async requireInside(path: string): Promise<void> {
    const [inner, outer] = await Promise.all([realpath(path), realpath(this.folder)])
    if (!inner.startsWith(outer + sep))
      throw new GraphHostError('git-failed', `the worktree ${path} leads out of ${this.folder}`)
  }

  /** The folder bears the key too: git names what it keeps of a worktree after it. */
  private namesOf(owner: WorktreeOwner): Pick<Worktree, 'path' | 'branch'> {
    const key = this.keyOf(owner)
    return { path: join(this.folder, key, key), branch: `dsh-graph/${key}` }
  }

  /** A note may have been changed by whoever works beside it. */
  private isOurs(note: Worktree): boolean {
    const { branch, path } = this.namesOf(note)
    return note.branch === branch && note.path === path
  }

  /** Nothing of a foreign id becomes part of a path or of a branch name. */
  private keyOf({ graphId, operatorId }: WorktreeOwner): string {
    return createHash('sha256')
      .update(JSON.stringify([graphId, operatorId]))
      .digest('hex')
      .slice(0, 24)
  }

  private oneAtATime<T>(repository: string, doing: () => Promise<T>): Promise<T> {
    const done = (this.queues.get(repository) ?? Promise.resolve()).then(doing, doing)
    const settled = done.catch(() => undefined)
    this.queues.set(repository, settled)
    void settled.then(() => {
      if (this.queues.get(repository) === settled) this.queues.delete(repository)
    })
    return done
  }
}

async function repositoryOf(cwd: string | undefined): Promise<string> {
  if (cwd === undefined)
    throw new GraphHostError('no-repository', 'the root has no working directory, so no worktree can be made')
  try {
    return (await git(cwd, 'rev-parse', '--show-toplevel')).trim()
  } catch (error) {
    throw new GraphHostError('no-repository', `${cwd} is in no git repository, so no worktree can be made`, {
      cause: error,
    })
  }
}

/** Where git keeps what it knows of the worktree. */
async function gitDirOf({ path, repository }: Worktree): Promise<string> {
  const common = (await git(repository, 'rev-parse', '--git-common-dir')).trim()
  return join(resolve(repository, common), 'worktrees', path.split(sep).at(-1) ?? '')
}

async function readNote(place: string): Promise<Worktree | undefined> {
  try {
    const note = JSON.parse(await readFile(join(place, NOTE), 'utf8')) as Worktree
    const texts = [note.graphId, note.provisionId, note.operatorId, note.branch, note.path, note.repository]
    const isWhole = texts.every((text) => typeof text === 'string') && isAbsolute(note.repository)
    return isWhole && /^[0-9a-f]{40,64}$/u.test(note.baseCommit) ? note : undefined
  } catch {
    // Not there, or torn by a crash before anything was made of it.
    return undefined
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
