import { compile, type Matcher, mayOverlap } from '../permissions/wildcard.ts';
import { accessTooComplex } from './failures.ts';

/** The resources that an action is allowed on: those that fit one of `allow`, and none of `deny`. */
export interface ResourceLanguage {
  allow: readonly string[];
  deny: readonly string[];
}

/** The work that a comparison may still cost: places of patterns to visit. About a second; hostile patterns would need years. */
export interface Budget {
  left: number;
}

export const makeComparisonBudget = (): Budget => ({ left: 3_000_000 });

/** The two forms of a resource: all of them at once, or a name that begins like this. */
const ANY_RESOURCE = '*';
const ARN_PREFIX = 'arn:svc:';

/** Candidates for a character that occurs in none of the patterns: the first unused one is taken. */
const FILLER_CHARACTERS = [...'x0abcdefghijklmnopqrstuvwyz123456789_-'];

/**
 * A shortest resource that is in `some` and not in `other`, or null if there is none. A pattern has one wildcard, so that it is a
 * deterministic automaton as long as itself; the product of those that matter is searched by breadth.
 * @throws accessTooComplex once the budget is used up
 */
export function findShortestDifference(some: ResourceLanguage, other: ResourceLanguage, budget: Budget): string | null {
  if (includesResource(some, ANY_RESOURCE) && !includesResource(other, ANY_RESOURCE)) return ANY_RESOURCE;
  const [allow, deny] = [dropContainedPatterns(some.allow, budget), dropContainedPatterns(some.deny, budget)];
  const [otherAllow, otherDeny] = [
    dropContainedPatterns(other.allow, budget),
    dropContainedPatterns(other.deny, budget),
  ];
  const isWithin = (pattern: string, patterns: readonly string[]) => containsPattern(patterns, pattern, budget);
  // Where nothing else is denied, what both allow makes no difference.
  const denied = otherDeny.filter((pattern) => !isWithin(pattern, deny));
  let shortest = null as string[] | null;
  for (const pattern of allow) {
    const isAllowed = isWithin(pattern, otherAllow);
    if (isWithin(pattern, deny) || (isAllowed && denied.every((one) => !mayOverlap(one, pattern)))) continue;
    const near = (patterns: readonly string[]) => patterns.filter((one) => mayOverlap(one, pattern)).map(getAutomaton);
    const unlike = { allow: isAllowed ? [getAutomaton('*')] : near(otherAllow), deny: near(denied) };
    shortest =
      searchDifference(getAutomaton(pattern), near(deny), unlike, shortest?.length ?? Infinity, budget) ?? shortest;
  }
  return shortest && ARN_PREFIX + shortest.join('');
}

/** Whether a resource is in a language. */
export const includesResource = ({ allow, deny }: ResourceLanguage, resource: string): boolean => {
  const fits = (pattern: string) => compile(pattern)(resource);
  return allow.some(fits) && !deny.some(fits);
};

/** The patterns that are not within another one. */
function dropContainedPatterns(patterns: readonly string[], budget: Budget): string[] {
  const different = [...new Set(patterns.map((pattern) => pattern.replaceAll(/\*+/g, '*')))];
  const matchers = different.map((pattern): [string, Matcher] => [pattern, compile(pattern)]);
  return different.filter(
    (pattern) => !matchers.some(([wide, fits]) => wide !== pattern && spendBudget(budget) && fits(pattern)),
  );
}

/** Whether one of the patterns contains `pattern`: it does if it matches the other pattern's text. */
const containsPattern = (patterns: readonly string[], pattern: string, budget: Budget): boolean =>
  patterns.some((wide) => spendBudget(budget) && compile(wide)(pattern));

/** Takes from the budget. @throws accessTooComplex where it is used up */
export function spendBudget(budget: Budget, cost = 1): true {
  budget.left -= cost;
  if (budget.left < 0) throw accessTooComplex();
  return true;
}

/** The state from which nothing fits any more. */
const DEAD_STATE = -1;

/**
 * A wildcard pattern as a deterministic automaton. The state is the number of literal characters matched so far. Each part
 * between wildcards is matched at its leftmost position; `back` is the state to fall back to within such a part when the next
 * character does not match, as in Knuth–Morris–Pratt.
 */
interface Automaton {
  characters: readonly string[];
  /** The length of the part before the first wildcard; of all where there is none. */
  head: number;
  /** For each state in a later part: the state to go on from, or the beginning of the part. */
  back: readonly number[];
  /** For each state, the state at which its part begins. */
  begin: readonly number[];
  /** The state from which everything fits, of a pattern that ends in a wildcard. */
  everything: number | null;
}

const cachedAutomata = new Map<string, Automaton>();

function getAutomaton(pattern: string): Automaton {
  const made = cachedAutomata.get(pattern) ?? buildAutomaton(pattern);
  if (cachedAutomata.size >= 2048) cachedAutomata.clear();
  cachedAutomata.set(pattern, made);
  return made;
}

function buildAutomaton(pattern: string): Automaton {
  const [first = '', ...rest] = pattern.split('*');
  const head = [...first];
  const parts = rest.map((part) => [...part]).filter((part) => part.length > 0);
  const characters = [...head, ...parts.flat()];
  const [back, begin] = [[] as number[], [] as number[]];
  let at = head.length;
  for (const part of parts) {
    const fallbacks = [at];
    for (let found = 0; found < part.length; found += 1) {
      begin[at + found] = at;
      back[at + found] = fallbacks[found] as number;
      if (found === 0) fallbacks[1] = at;
      else fallbacks[found + 1] = findNextState(part, at, fallbacks, fallbacks[found] as number, part[found] as string);
    }
    begin[at + part.length] = at;
    back[at + part.length] = fallbacks[part.length] as number;
    at += part.length;
  }
  return {
    characters,
    head: rest.length === 0 ? characters.length + 1 : head.length,
    back,
    begin,
    everything: rest.length > 0 && pattern.endsWith('*') ? characters.length : null,
  };
}

/** The state after `character`, from a state of a part whose fallbacks are known that far. */
function findNextState(part: string[], at: number, fallbacks: number[], from: number, character: string): number {
  for (let state = from; ; state = fallbacks[state - at] as number) {
    if (part[state - at] === character) return state + 1;
    if (state === at) return at;
  }
}

/** The state after one character; null stands for one that no pattern asks for. */
function stepAutomaton(
  { characters, head, back, begin, everything }: Automaton,
  state: number,
  character: string | null,
): number {
  if (state === everything) return state;
  if (state < head) return characters[state] === character ? state + 1 : DEAD_STATE;
  for (let from = state; ; from = back[from] as number) {
    if (character !== null && characters[from] === character && from < characters.length) return from + 1;
    if (from === begin[from]) return from;
  }
}

/** Adds the characters that a state asks for: all others lead to the same. */
function addExpectedCharacters(
  { characters, head, back, begin, everything }: Automaton,
  state: number,
  into: Set<string>,
): void {
  if (state === everything) return;
  for (let from = state; ; from = back[from] as number) {
    if (from < characters.length) into.add(characters[from] as string);
    if (state < head || from === begin[from]) return;
  }
}

/** A place of the search: the states of all patterns, and how it was reached. */
interface Place {
  states: readonly number[];
  from: Place | null;
  character: string;
  length: number;
}

/**
 * Finds a shortest text, after the common prefix of all names, that matches `wanted`, none of `deny`, and either none of
 * `other.allow` or one of `other.deny`.
 * @param below only texts shorter than this
 */
function searchDifference(
  wanted: Automaton,
  deny: readonly Automaton[],
  other: { allow: readonly Automaton[]; deny: readonly Automaton[] },
  below: number,
  budget: Budget,
): string[] | null {
  const all = [wanted, ...deny, ...other.allow, ...other.deny];
  const otherAt = 1 + deny.length;
  const otherDenyAt = otherAt + other.allow.length;
  const isIn = (states: readonly number[], begin: number, end: number, asked: 'accepted' | 'everything') =>
    states.some(
      (state, at) =>
        at >= begin && at < end && state === (asked === 'accepted' ? all[at]?.characters.length : all[at]?.everything),
    );
  /** Reduces the states to those that can still affect the result; null where no text that is searched for can follow. */
  const deciding = (states: number[]): number[] | null => {
    if (states[0] === DEAD_STATE || isIn(states, 1, otherAt, 'everything')) return null;
    // Whatever comes, the other denies it.
    if (isIn(states, otherDenyAt, all.length, 'everything')) return states.fill(DEAD_STATE, otherAt);
    if (isIn(states, otherAt, otherDenyAt, 'everything')) {
      if (states.every((state, at) => at < otherDenyAt || state === DEAD_STATE)) return null;
      const sink = states.findIndex((state, at) => at >= otherAt && at < otherDenyAt && state === all[at]?.everything);
      return states.map((state, at) => (at < otherAt || at >= otherDenyAt || at === sink ? state : DEAD_STATE));
    }
    return states;
  };
  const isFound = ({ states }: Place): boolean =>
    isIn(states, 0, 1, 'accepted') &&
    !isIn(states, 1, otherAt, 'accepted') &&
    (!isIn(states, otherAt, otherDenyAt, 'accepted') || isIn(states, otherDenyAt, all.length, 'accepted'));
  const after = (states: readonly number[], character: string | null): number[] =>
    states.map((state, at) =>
      state === DEAD_STATE ? DEAD_STATE : stepAutomaton(all[at] as Automaton, state, character),
    );

  const first = deciding(
    [...ARN_PREFIX].reduce(
      after,
      all.map(() => 0),
    ),
  );
  if (!first) return null;
  const seen = new Set([first.join()]);
  let level: Place[] = [{ states: first, from: null, character: '', length: 0 }];
  for (let length = 0; level.length > 0 && length < below; length += 1) {
    const found = level.find(isFound);
    if (found) return describePlace(found);
    const next: Place[] = [];
    for (const place of level) {
      const asked = new Set<string>();
      for (const [at, state] of place.states.entries())
        if (state !== DEAD_STATE) addExpectedCharacters(all[at] as Automaton, state, asked);
      for (const character of [null, ...asked]) {
        spendBudget(budget, all.length);
        const states = deciding(after(place.states, character));
        if (!states || seen.has(states.join())) continue;
        seen.add(states.join());
        next.push({
          states,
          from: place,
          character: character ?? chooseUnexpectedCharacter(asked),
          length: length + 1,
        });
      }
    }
    level = next;
  }
  return null;
}

/** A character that is none of these. */
function chooseUnexpectedCharacter(asked: ReadonlySet<string>): string {
  const usual = FILLER_CHARACTERS.find((character) => !asked.has(character));
  if (usual !== undefined) return usual;
  let code = 0x4e00;
  while (asked.has(String.fromCodePoint(code))) code += 1;
  return String.fromCodePoint(code);
}

function describePlace(place: Place): string[] {
  const characters: string[] = [];
  for (let at: Place = place; at.from; at = at.from) characters.push(at.character);
  return characters.reverse();
}
