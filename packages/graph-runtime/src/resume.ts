/**
 * LangGraph's resume command. The one thing of LangGraph that this package runs, so it is loaded when a
 * graph first resumes; graphs of another copy of LangGraph take the command as well.
 */
export async function resumeCommand(resume: unknown): Promise<object> {
  const { Command } = await import('@langchain/langgraph')
  return new Command({ resume })
}
