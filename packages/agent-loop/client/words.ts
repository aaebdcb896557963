/** The words of the page, in English and Chinese, and how it writes durations. */

const EN = {
  tab: 'Lanes',
  'lanes.title': 'Lanes',
  'lanes.text': 'A run waits in the lane of its session, then for a slot of a lane that all sessions share.',
  'lane.name': 'Lane',
  'lane.active': 'Active',
  'lane.activeOf': '{active} of {width}',
  'lane.depth': 'Waiting',
  'lane.age': 'Oldest waits',
  'lane.started': 'Started',
  'lane.meanWait': 'Mean wait',
  'lane.longestWait': 'Longest wait',
  'lane.drops': 'Dropped',
  'lane.forced': 'Released by force',
  'sessions.title': 'Sessions',
  'sessions.none': 'Nothing runs and nothing waits.',
  'session.own': 'This session',
  'session.other': 'Session {id}',
  'session.runs': 'runs {run}',
  'session.observed': 'turn {turn} was begun in the app',
  'session.idle': 'nothing runs',
  'session.waits': '{count} waiting',
  'item.for': 'for {time}',
  'status.queued': 'waits',
  'status.steering': 'on its way into the open turn',
  'status.deferred': 'is tried again in {time}',
  'status.dropped': 'dropped',
  'reason.queue-full': 'the queue was full',
  'reason.superseded': 'a newer message took its place',
  'reason.expired': 'its time had passed',
  abort: 'Abort this run',
  abortLabel: 'Abort this run: {run}',
  cancel: 'Take out of the queue',
  cancelLabel: 'Take out of the queue: {preview}',
  'ask.abort': 'The turn that works on it ends at once. What it has done stays.',
  'ask.cancel': 'The message is not delivered. Whoever sent it is told that it was taken out.',
  'ask.no': 'Keep it',
  failed: 'Refused: {reason}',
  gone: 'It had begun or ended already.',
  loading: 'Reading the lanes…',
  offline: 'The host does not answer ({reason}); what is shown may be old.',
  'settings.title': 'Queues of sessions',
  'settings.text': 'How messages that plugins and programs send join a session that is busy. Holds at once.',
  'settings.mode': 'A message to a busy session',
  'settings.modeHint':
    'For messages and sessions that do not say themselves; /queue sets it for one session.',
  'settings.mode.followup': 'Waits and gets a turn of its own',
  'settings.mode.collect': 'Waits and is told together with others',
  'settings.mode.steer': 'Joins the turn that is open',
  'settings.mode.steer-backlog': 'Joins the open turn, and is told again after it',
  'settings.mode.interrupt': 'Stops the turn that is open',
  'settings.debounce': 'Collecting waits for more, milliseconds',
  'settings.debounceHint': 'How long it must be quiet before what was collected is told.',
  'settings.cap': 'Messages that may wait in one session',
  'settings.capHint': 'What plugins send, works of graphs among it, is not counted.',
  'settings.drop': 'When that many wait',
  'settings.dropHint': 'What becomes of one message too many.',
  'settings.drop.summarize': 'The oldest gives way, and is told of in a line',
  'settings.drop.old': 'The oldest gives way',
  'settings.drop.new': 'The new one is refused',
}

export type Word = keyof typeof EN

const ZH: Readonly<Record<Word, string>> = {
  tab: '通道',
  'lanes.title': '通道',
  'lanes.text': '运行先在其会话的通道中等待，再等待所有会话共用的通道空出名额。',
  'lane.name': '通道',
  'lane.active': '活动',
  'lane.activeOf': '{active} / {width}',
  'lane.depth': '等待',
  'lane.age': '最久等待',
  'lane.started': '已开始',
  'lane.meanWait': '平均等待',
  'lane.longestWait': '最长等待',
  'lane.drops': '已丢弃',
  'lane.forced': '强制释放',
  'sessions.title': '会话',
  'sessions.none': '没有运行，也没有等待。',
  'session.own': '本会话',
  'session.other': '会话 {id}',
  'session.runs': '正在运行 {run}',
  'session.observed': '第 {turn} 轮由应用发起',
  'session.idle': '没有运行',
  'session.waits': '{count} 个等待',
  'item.for': '已 {time}',
  'status.queued': '等待',
  'status.steering': '正在送入当前轮次',
  'status.deferred': '{time} 后重试',
  'status.dropped': '已丢弃',
  'reason.queue-full': '队列已满',
  'reason.superseded': '被更新的消息取代',
  'reason.expired': '已过期',
  abort: '中止此运行',
  abortLabel: '中止此运行：{run}',
  cancel: '移出队列',
  cancelLabel: '移出队列：{preview}',
  'ask.abort': '正在处理它的轮次立即结束。已完成的保留。',
  'ask.cancel': '消息不会送达。发送者会得知它已被移出。',
  'ask.no': '保留',
  failed: '被拒绝：{reason}',
  gone: '它已经开始或结束。',
  loading: '正在读取通道…',
  offline: '主机没有应答（{reason}）；所示内容可能已过时。',
  'settings.title': '会话队列',
  'settings.text': '插件和程序发来的消息如何加入忙碌的会话。立即生效。',
  'settings.mode': '发给忙碌会话的消息',
  'settings.modeHint': '用于自身没有指定的消息和会话；/queue 为单个会话设置。',
  'settings.mode.followup': '等待，并得到自己的轮次',
  'settings.mode.collect': '等待，并与其他消息一并告知',
  'settings.mode.steer': '加入正在进行的轮次',
  'settings.mode.steer-backlog': '加入正在进行的轮次，并在其后再次告知',
  'settings.mode.interrupt': '停止正在进行的轮次',
  'settings.debounce': '收集时等待更多消息（毫秒）',
  'settings.debounceHint': '安静多久之后告知已收集的消息。',
  'settings.cap': '一个会话中可等待的消息数',
  'settings.capHint': '插件发来的消息（包括图的工作）不计。',
  'settings.drop': '达到该数目时',
  'settings.dropHint': '多出的一条消息如何处理。',
  'settings.drop.summarize': '最旧的让位，并用一行告知',
  'settings.drop.old': '最旧的让位',
  'settings.drop.new': '拒绝新的',
}

export interface Words {
  say(word: Word, values?: Readonly<Record<string, string | number>>): string
  duration(ms: number): string
}

function wordsOf(dictionary: Readonly<Record<Word, string>>): Words {
  return {
    say: (word, values = {}) =>
      dictionary[word].replaceAll(/\{(\w+)\}/gu, (place, name: string) => String(values[name] ?? place)),
    duration: durationText,
  }
}

const WORDS = { en: wordsOf(EN), zh: wordsOf(ZH) }

/** @param locale as DSH names it; every language but Chinese reads English. */
export function wordsFor(locale: string): Words {
  return /^zh\b/iu.test(locale) ? WORDS.zh : WORDS.en
}

function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
