export const name = 'durable-log'
