#!/usr/bin/env node
/** The file behind the shell command `dsh-graph`. */
import { runCommand } from './run-command.ts'

await runCommand('dsh-graph', () => import('./shell.ts'))
