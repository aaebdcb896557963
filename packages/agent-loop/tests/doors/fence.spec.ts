import { describe, expect, it } from 'vitest'
import { admit } from '../../src/doors/fence.ts'

const TOKEN = 'a'.repeat(64)
const HOST = '127.0.0.1:4000'
const PAGE = { host: HOST, origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' }

const admitted = (headers: Record<string, string>, remoteAddress = '127.0.0.1') =>
  admit({ headers, socket: { remoteAddress } }, TOKEN)

describe('the fence', () => {
  it.each([
    ['the page of the server', PAGE],
    ['the page in a browser that tells no more than its origin', { host: HOST, origin: `http://${HOST}` }],
    ['the page by another name of this machine', { host: 'localhost:1', origin: 'http://localhost:1' }],
    ['a program with the token', { host: HOST, authorization: `Bearer ${TOKEN}` }],
  ])('lets %s change things', (_title, headers) => {
    expect(admitted(headers)).toEqual({ kind: 'admitted', mayChange: true })
  })

  it.each([
    ['a program without the token', { host: HOST }],
    ['a program with another token', { host: HOST, authorization: `Bearer ${'b'.repeat(64)}` }],
    ['a program with half a token', { host: HOST, authorization: `Bearer ${'a'.repeat(32)}` }],
    ['an address that somebody typed', { host: HOST, 'sec-fetch-site': 'none' }],
  ])('lets %s look only', (_title, headers) => {
    expect(admitted(headers)).toEqual({ kind: 'admitted', mayChange: false })
  })

  it.each([
    ['a page of the web', { ...PAGE, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page on another port of this machine', { ...PAGE, origin: 'http://127.0.0.1:3000' }],
    ['a page of a site beside this one', { ...PAGE, 'sec-fetch-site': 'same-site' }],
    ['a page that hides where it is from', { ...PAGE, origin: 'null' }],
    ['a name that was made to lead here', { host: 'evil.example:4000', origin: 'http://evil.example:4000' }],
    ['a name that begins like this machine', { host: '127.0.0.1.evil.example' }],
    ['a host that is none', { host: 'a b' }],
    ['nobody', {}],
    [
      'a foreign page with the token',
      { ...PAGE, origin: 'https://evil.example', authorization: `Bearer ${TOKEN}` },
    ],
  ])('refuses %s', (_title, headers) => {
    expect(admitted(headers as Record<string, string>)).toMatchObject({ kind: 'refused' })
  })

  it('refuses another machine, whatever it says', () => {
    expect(admitted(PAGE, '192.168.1.7')).toMatchObject({ kind: 'refused' })
    expect(admitted(PAGE, '::ffff:10.0.0.1')).toMatchObject({ kind: 'refused' })
    expect(admitted(PAGE, '::ffff:127.0.0.1')).toMatchObject({ kind: 'admitted' })
    expect(admitted(PAGE, '::1')).toMatchObject({ kind: 'admitted' })
  })
})
