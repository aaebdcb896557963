#!/usr/bin/env node
/** The file behind the shell command `dsh-agent`. */
import { runCommand } from './run-command.ts'

await runCommand('dsh-agent', () => import('./agent-shell.ts'))
