/** Reads the tarballs of packages, with the system's `tar`. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

function tar(args: readonly string[]): Buffer {
  const result = spawnSync('tar', args, { maxBuffer: 1 << 28 })
  if (result.status !== 0)
    throw new Error(`tar ${args.join(' ')}: ${result.stderr?.toString() ?? result.error}`)
  return result.stdout
}

/** Paths of the files inside, without the leading `package/`. */
export function filesIn(tarball: string): string[] {
  return tar(['-tzf', tarball])
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith('/'))
    .map((line) => line.replace(/^package\//u, ''))
}

/** @param file path inside, without the leading `package/`. */
export function readFrom(tarball: string, file: string): Buffer {
  return tar(['-xzOf', tarball, `package/${file}`])
}

/** Unpacks everything into `folder/package`. */
export function unpack(tarball: string, folder: string): string {
  tar(['-xzf', tarball, '-C', folder])
  return join(folder, 'package')
}
