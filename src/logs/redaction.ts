/** A person whom a company wants forgotten: their ids and addresses, and the pseudonym that takes their place. */
export interface Person {
  /** Ids of the user and of the outsider, of each time that there was one. */
  ids: readonly string[];
  /** Lower-case; '' where only others of these are known. */
  email: string;
  pseudonym: string;
  /** The addresses from which they are known to have come. */
  ips: readonly string[];
}

/** Members of a record that name who did something, and those that tell the address and browser. */
const ACTOR_MEMBERS = ['principalId', 'actorId', 'actorEmail'];
const ORIGIN_MEMBERS = ['ip', 'ipCountry', 'userAgent'];
/** The personal members of a record that a person's own id names, with the values that replace them. */
const makeOwnReplacements = (pseudonym: string): Record<string, unknown> => ({
  name: pseudonym,
  teams: [],
  metadata: {},
});

const escapeRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The text with the pseudonym in the place of the person: of an address only where it is one by itself. */
export function redactText(text: string, { ids, email, pseudonym }: Person): string {
  const withoutIds = ids.reduce((rest, id) => rest.replaceAll(id, pseudonym), text);
  if (email === '' || !withoutIds.toLowerCase().includes(email)) return withoutIds;
  return withoutIds.replaceAll(new RegExp(`(?<![\\w.+-])${escapeRegExp(email)}(?![\\w-]|\\.\\w)`, 'gi'), pseudonym);
}

/** Whether the person did it: it names them as the actor, or no actor and comes from one of their addresses. */
function isActionOf(record: Record<string, unknown>, { ids, email, ips }: Person): boolean {
  const who = ACTOR_MEMBERS.map((name) => record[name]).filter((each) => typeof each === 'string');
  if (who.length === 0) return typeof record.ip === 'string' && ips.includes(record.ip);
  return who.some((each) => ids.includes(each) || (email !== '' && each.toLowerCase() === email));
}

/** Puts the pseudonym throughout a JSON value. What the person did loses address and browser. */
export function redactValue(value: unknown, person: Person): unknown {
  if (typeof value === 'string') return redactText(value, person);
  if (Array.isArray(value)) return value.map((each) => redactValue(each, person));
  if (typeof value !== 'object' || value === null) return value;
  const record = value as Record<string, unknown>;
  const withoutTraces = isActionOf(record, person);
  const isAbout = [record.id, record._id].some((id) => typeof id === 'string' && person.ids.includes(id));
  const own = isAbout ? makeOwnReplacements(person.pseudonym) : {};
  return Object.fromEntries(
    Object.entries(record).map(([name, member]) => {
      if (withoutTraces && ORIGIN_MEMBERS.includes(name)) return [name, null];
      return [name, name in own ? own[name] : redactValue(member, person)];
    }),
  );
}

/** Redacts a text that is JSON; other text as far as it is. */
export function redactJson(text: string, person: Person): string {
  if (!isPersonNamedIn(text, person)) return text;
  try {
    return JSON.stringify(redactValue(JSON.parse(text), person));
  } catch {
    return redactText(text, person);
  }
}

/** Whether something of a person stands in a text. */
export const isPersonNamedIn = (text: string, person: Person): boolean => redactText(text, person) !== text;
