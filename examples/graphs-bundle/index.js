/**
 * The bundle's entry, a Cordis plugin without a body. Importing the graphs is all there is to do:
 * each one is published as its module loads, and the graph runtime mounts it.
 */
import './graphs/index.js'

export const name = 'graph-examples'

export function apply() {}
