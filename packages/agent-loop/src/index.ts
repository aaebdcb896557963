export const name = 'agent-loop'
