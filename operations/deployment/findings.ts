/** The findings of a check before a deployment. */
export interface Findings {
  /** What would fail, each with its remedy. */
  problems: string[];
  /** Notes that need no action. */
  notes: string[];
}

export const nothing: Findings = { problems: [], notes: [] };
export const problem = (text: string): Findings => ({ problems: [text], notes: [] });
export const note = (text: string): Findings => ({ problems: [], notes: [text] });
