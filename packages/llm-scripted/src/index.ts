export const name = 'llm-scripted'
