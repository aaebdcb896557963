/**
 * Packs an installed package folder as its registry would serve it: a gzipped ustar archive under
 * `package/`, the same bytes for the same files. The system's `tar` is no help here: pnpm installs
 * equal files as hard links, `tar` archives those as links, and installers drop links.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const BLOCK = 512

function filesOf(dir: string, inside = ''): string[] {
  return readdirSync(join(dir, inside)).flatMap((name) => {
    const path = inside === '' ? name : `${inside}/${name}`
    // Command links are the installer's, not the package's.
    if (path === 'node_modules/.bin') return []
    return statSync(join(dir, path)).isDirectory() ? filesOf(dir, path) : [path]
  })
}

/** Splits a path at a slash into the two name fields of ustar. */
function nameFields(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const fields = { prefix: path.slice(0, at), name: path.slice(at + 1) }
    if (Buffer.byteLength(fields.name) <= 100 && Buffer.byteLength(fields.prefix) <= 155) return fields
  }
  throw new Error(`${path} is too long for an archive`)
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')}\0`
}

function headerOf(path: string, size: number, mode: number): Buffer {
  const { name, prefix } = nameFields(path)
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0)
  header.write(octal(mode, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(size, 11), 124)
  header.write(octal(0, 11), 136)
  // The checksum counts its own field as spaces.
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(prefix, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)} `, 148)
  return header
}

/** @param dir the installed package; links inside it are followed. */
export function packInstalled(dir: string): Buffer {
  const blocks = filesOf(dir)
    .sort()
    .flatMap((path) => {
      const content = readFileSync(join(dir, path))
      const executable = (statSync(join(dir, path)).mode & 0o100) !== 0
      const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)
      return [headerOf(`package/${path}`, content.length, executable ? 0o755 : 0o644), content, padding]
    })
  // Fast rather than small: it travels over the loopback only.
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 1 })
}
