/** The barrel: one line per graph. */
import './field-survey.js'
import './triage.js'
import './word-count.js'
