/** Findings of a check before a deployment. */
export interface Findings {
  /** Problems that would make the deployment fail, each with its remedy. */
  problems: string[];
  /** Notes that need no action. */
  notes: string[];
}

export const NO_FINDINGS: Findings = { problems: [], notes: [] };
export const makeProblem = (text: string): Findings => ({ problems: [text], notes: [] });
export const makeNote = (text: string): Findings => ({ problems: [], notes: [text] });
