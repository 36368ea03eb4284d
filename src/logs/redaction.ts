/** A person whom a company wants erased: their ids and addresses, and the pseudonym that replaces them. */
export interface Person {
  /** Ids of the person as a user and as an outsider, each time there was one. */
  ids: readonly string[];
  /** The email address, lower-case; '' where only the other identifiers are known. */
  email: string;
  pseudonym: string;
  /** The IP addresses from which the person is known to have come. */
  ips: readonly string[];
}

/** Members of a record that name its actor. */
const ACTOR_MEMBERS = ['principalId', 'actorId', 'actorEmail'];
/** Members of a record with the actor's address, country and browser. */
const ORIGIN_MEMBERS = ['ip', 'ipCountry', 'userAgent'];
/** Returns replacements for the personal members of a person's own record. */
const makeOwnReplacements = (pseudonym: string): Record<string, unknown> => ({
  name: pseudonym,
  teams: [],
  metadata: {},
});

const escapeRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Returns the text with the pseudonym in place of the person; an email address is replaced only where it stands alone. */
export function redactText(text: string, { ids, email, pseudonym }: Person): string {
  const textWithoutIds = ids.reduce((redactedText, id) => redactedText.replaceAll(id, pseudonym), text);
  if (email === '' || !textWithoutIds.toLowerCase().includes(email)) return textWithoutIds;
  return textWithoutIds.replaceAll(new RegExp(`(?<![\\w.+-])${escapeRegExp(email)}(?![\\w-]|\\.\\w)`, 'gi'), pseudonym);
}

/** Tells whether a record is the person's action: it names them as actor, or no actor and one of their addresses. */
function isActionOfPerson(record: Record<string, unknown>, { ids, email, ips }: Person): boolean {
  const actors = ACTOR_MEMBERS.map((name) => record[name]).filter((actor) => typeof actor === 'string');
  if (actors.length === 0) return typeof record.ip === 'string' && ips.includes(record.ip);
  return actors.some((actor) => ids.includes(actor) || (email !== '' && actor.toLowerCase() === email));
}

/** Replaces the person by the pseudonym throughout a JSON value. Their own actions lose address and browser. */
export function redactValue(value: unknown, person: Person): unknown {
  if (typeof value === 'string') return redactText(value, person);
  if (Array.isArray(value)) return value.map((element) => redactValue(element, person));
  if (typeof value !== 'object' || value === null) return value;
  const record = value as Record<string, unknown>;
  const isOwnAction = isActionOfPerson(record, person);
  const isAboutPerson = [record.id, record._id].some((id) => typeof id === 'string' && person.ids.includes(id));
  const ownReplacements = isAboutPerson ? makeOwnReplacements(person.pseudonym) : {};
  return Object.fromEntries(
    Object.entries(record).map(([name, member]) => {
      if (isOwnAction && ORIGIN_MEMBERS.includes(name)) return [name, null];
      return [name, Object.hasOwn(ownReplacements, name) ? ownReplacements[name] : redactValue(member, person)];
    }),
  );
}

/** Redacts a text that is JSON as JSON, and any other text as plain text. */
export function redactJson(text: string, person: Person): string {
  if (!isPersonNamedIn(text, person)) return text;
  try {
    return JSON.stringify(redactValue(JSON.parse(text), person));
  } catch {
    return redactText(text, person);
  }
}

/** Tells whether a text names the person. */
export const isPersonNamedIn = (text: string, person: Person): boolean => redactText(text, person) !== text;
