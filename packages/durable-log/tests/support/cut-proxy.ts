/** A loopback proxy in front of a server, whose network a test can cut, freeze and mend. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface CutProxy {
  readonly port: number
  /** Breaks every connection and refuses new ones. */
  cut(): void
  /** Lets nothing through in either direction, without a word to either side. */
  freeze(): void
  /** Lets new connections through again. Frozen ones are broken. */
  mend(): void
  close(): Promise<void>
}

export async function cutProxy(target: { readonly host: string; readonly port: number }): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'frozen' = 'open'
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => void sockets.delete(socket))
  }
  const breakAll = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const server = createServer((near) => {
    keep(near)
    if (state === 'cut') {
      near.resetAndDestroy()
      return
    }
    const far = connect(target)
    keep(far)
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => void (state === 'open' && to.write(bytes)))
      from.on('close', () => to.destroy())
    }
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut: () => {
      state = 'cut'
      breakAll()
    },
    freeze: () => void (state = 'frozen'),
    mend: () => {
      if (state === 'frozen') breakAll()
      state = 'open'
    },
    close: async () => {
      breakAll()
      server.close()
      await once(server, 'close')
    },
  }
}
