/**
 * The Chromium of this machine (Debian's package, or what `CHROMIUM` names). Where there is none the
 * tests that need a browser are left out of the run, and the run says so.
 */
import { existsSync } from 'node:fs'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Path of the executable. */
export const CHROMIUM = [process.env['CHROMIUM'], ...PLACES].find(
  (path): path is string => path !== undefined && existsSync(path),
)
