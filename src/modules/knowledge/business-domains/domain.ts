/** One part of what a company does, as its people name it. */
export interface BusinessDomain {
  /** A slug, once in the company. */
  key: string;
  name: string;
  description: string;
}
