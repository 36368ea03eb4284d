import { compilePattern, type Matcher, mayOverlap } from '../permissions/wildcard.ts';
import { accessTooComplex } from './failures.ts';

/** Set of resources that an action is allowed on: those that match a pattern of `allowPatterns`, and none of `denyPatterns`. */
export interface ResourceLanguage {
  allowPatterns: readonly string[];
  denyPatterns: readonly string[];
}

/** Remaining cost of a comparison, in search states to visit. About a second; hostile patterns would need years. */
export interface ComparisonBudget {
  remainingCost: number;
}

export const makeComparisonBudget = (): ComparisonBudget => ({ remainingCost: 3_000_000 });

/** Resource that stands for all resources; the name of any other resource begins with `ARN_PREFIX`. */
const ANY_RESOURCE = '*';
const ARN_PREFIX = 'arn:svc:';

/** Characters for "any other": the first one that occurs in none of the patterns is taken. */
const FILLER_CHARACTERS = [...'x0abcdefghijklmnopqrstuvwyz123456789_-'];

/**
 * Finds a shortest resource that is in `language` and not in `otherLanguage`, or null if there is none. Patterns have
 * only one kind of wildcard, so that each is a deterministic automaton as long as the pattern; the product of the
 * automata that matter is searched breadth first.
 * @throws accessTooComplex once the budget is used up
 */
export function findShortestDifference(
  language: ResourceLanguage,
  otherLanguage: ResourceLanguage,
  budget: ComparisonBudget,
): string | null {
  if (includesResource(language, ANY_RESOURCE) && !includesResource(otherLanguage, ANY_RESOURCE)) return ANY_RESOURCE;
  const [allow, deny] = [
    dropContainedPatterns(language.allowPatterns, budget),
    dropContainedPatterns(language.denyPatterns, budget),
  ];
  const [otherAllow, otherDeny] = [
    dropContainedPatterns(otherLanguage.allowPatterns, budget),
    dropContainedPatterns(otherLanguage.denyPatterns, budget),
  ];
  const isWithin = (pattern: string, patterns: readonly string[]) => containsPattern(patterns, pattern, budget);
  // Where nothing else is denied, what both allow makes no difference.
  const otherDenyPatterns = otherDeny.filter((pattern) => !isWithin(pattern, deny));
  let shortestDifference = null as string[] | null;
  for (const pattern of allow) {
    const isAllowed = isWithin(pattern, otherAllow);
    if (
      isWithin(pattern, deny) ||
      (isAllowed && otherDenyPatterns.every((otherPattern) => !mayOverlap(otherPattern, pattern)))
    )
      continue;
    const findOverlapping = (patterns: readonly string[]) =>
      patterns.filter((otherPattern) => mayOverlap(otherPattern, pattern)).map(getAutomaton);
    const otherAutomata = {
      allowAutomata: isAllowed ? [getAutomaton('*')] : findOverlapping(otherAllow),
      denyAutomata: findOverlapping(otherDenyPatterns),
    };
    shortestDifference =
      searchDifference(
        getAutomaton(pattern),
        findOverlapping(deny),
        otherAutomata,
        shortestDifference?.length ?? Infinity,
        budget,
      ) ?? shortestDifference;
  }
  return shortestDifference && ARN_PREFIX + shortestDifference.join('');
}

/** Returns true if a resource is in a language. */
export const includesResource = (
  { allowPatterns: allow, denyPatterns: deny }: ResourceLanguage,
  resource: string,
): boolean => {
  const matchesResource = (pattern: string) => compilePattern(pattern)(resource);
  return allow.some(matchesResource) && !deny.some(matchesResource);
};

/** Returns the patterns that are not contained in another one. */
function dropContainedPatterns(patterns: readonly string[], budget: ComparisonBudget): string[] {
  const distinctPatterns = [...new Set(patterns.map((pattern) => pattern.replaceAll(/\*+/g, '*')))];
  const matchers = distinctPatterns.map((pattern): [string, Matcher] => [pattern, compilePattern(pattern)]);
  return distinctPatterns.filter(
    (pattern) => !matchers.some(([wide, fits]) => wide !== pattern && spendBudget(budget) && fits(pattern)),
  );
}

/** Returns true if one of the patterns matches `pattern` as a text, and therefore contains `pattern`. */
const containsPattern = (patterns: readonly string[], pattern: string, budget: ComparisonBudget): boolean =>
  patterns.some((candidate) => spendBudget(budget) && compilePattern(candidate)(pattern));

/** Takes a cost from the budget. @throws accessTooComplex once the budget is used up */
export function spendBudget(budget: ComparisonBudget, cost = 1): true {
  budget.remainingCost -= cost;
  if (budget.remainingCost < 0) throw accessTooComplex();
  return true;
}

/** Automaton state from which nothing can match any more. */
const DEAD_STATE = -1;

/**
 * A wildcard pattern as a deterministic automaton. The state is the number of literal characters matched so far. Each part
 * between wildcards is matched at its leftmost position; `fallbackStates` holds the state to fall back to within such a part when
 * the next character does not match, as in Knuth–Morris–Pratt.
 */
interface Automaton {
  characters: readonly string[];
  /** Length of the part before the first wildcard; of the whole pattern if it has none. */
  headLength: number;
  /** For each state in a later part: the state to fall back to, or the beginning of the part. */
  fallbackStates: readonly number[];
  /** For each state, the state at which its part begins. */
  partStarts: readonly number[];
  /** State from which everything matches, in a pattern that ends in a wildcard; null in other patterns. */
  matchAllState: number | null;
}

const cachedAutomata = new Map<string, Automaton>();

function getAutomaton(pattern: string): Automaton {
  const cachedAutomaton = cachedAutomata.get(pattern) ?? buildAutomaton(pattern);
  if (cachedAutomata.size >= 2048) cachedAutomata.clear();
  cachedAutomata.set(pattern, cachedAutomaton);
  return cachedAutomaton;
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
    for (let matchedCount = 0; matchedCount < part.length; matchedCount += 1) {
      begin[at + matchedCount] = at;
      back[at + matchedCount] = fallbacks[matchedCount] as number;
      if (matchedCount === 0) fallbacks[1] = at;
      else
        fallbacks[matchedCount + 1] = findNextState(
          part,
          at,
          fallbacks,
          fallbacks[matchedCount] as number,
          part[matchedCount] as string,
        );
    }
    begin[at + part.length] = at;
    back[at + part.length] = fallbacks[part.length] as number;
    at += part.length;
  }
  return {
    characters,
    headLength: rest.length === 0 ? characters.length + 1 : head.length,
    fallbackStates: back,
    partStarts: begin,
    matchAllState: rest.length > 0 && pattern.endsWith('*') ? characters.length : null,
  };
}

/** Returns the state after `character`, within a part whose fallbacks are known up to this state. */
function findNextState(part: string[], at: number, fallbacks: number[], from: number, character: string): number {
  for (let state = from; ; state = fallbacks[state - at] as number) {
    if (part[state - at] === character) return state + 1;
    if (state === at) return at;
  }
}

/** Returns the state after one character; null stands for a character that no pattern expects. */
function stepAutomaton(
  { characters, headLength, fallbackStates, partStarts, matchAllState }: Automaton,
  state: number,
  character: string | null,
): number {
  if (state === matchAllState) return state;
  if (state < headLength) return characters[state] === character ? state + 1 : DEAD_STATE;
  for (let from = state; ; from = fallbackStates[from] as number) {
    if (character !== null && characters[from] === character && from < characters.length) return from + 1;
    if (from === partStarts[from]) return from;
  }
}

/** Adds the characters that a state expects: all other characters lead to the same next state. */
function addExpectedCharacters(
  { characters, headLength, fallbackStates, partStarts, matchAllState }: Automaton,
  state: number,
  expectedCharacters: Set<string>,
): void {
  if (state === matchAllState) return;
  for (let from = state; ; from = fallbackStates[from] as number) {
    if (from < characters.length) expectedCharacters.add(characters[from] as string);
    if (state < headLength || from === partStarts[from]) return;
  }
}

/** Step of the search: the states of all automata, and the step and character that led there. */
interface SearchStep {
  states: readonly number[];
  previousStep: SearchStep | null;
  character: string;
  length: number;
}

/**
 * Finds a shortest text, after the common prefix of all names, that matches `wantedAutomaton`, none of `deny`, and
 * either none of `otherAutomata.allowAutomata` or one of `otherAutomata.denyAutomata`.
 * @param maxLength only texts shorter than this
 */
function searchDifference(
  wantedAutomaton: Automaton,
  deny: readonly Automaton[],
  otherAutomata: { allowAutomata: readonly Automaton[]; denyAutomata: readonly Automaton[] },
  maxLength: number,
  budget: ComparisonBudget,
): string[] | null {
  const allAutomata = [wantedAutomaton, ...deny, ...otherAutomata.allowAutomata, ...otherAutomata.denyAutomata];
  const otherAllowStart = 1 + deny.length;
  const otherDenyStart = otherAllowStart + otherAutomata.allowAutomata.length;
  const hasState = (states: readonly number[], begin: number, end: number, condition: 'accepted' | 'everything') =>
    states.some(
      (state, at) =>
        at >= begin &&
        at < end &&
        state === (condition === 'accepted' ? allAutomata[at]?.characters.length : allAutomata[at]?.matchAllState),
    );
  /** Reduces the states to those that can still affect the result; null if no wanted text can follow. */
  const reduceStates = (states: number[]): number[] | null => {
    if (states[0] === DEAD_STATE || hasState(states, 1, otherAllowStart, 'everything')) return null;
    // Whatever comes, the other denies it.
    if (hasState(states, otherDenyStart, allAutomata.length, 'everything'))
      return states.fill(DEAD_STATE, otherAllowStart);
    if (hasState(states, otherAllowStart, otherDenyStart, 'everything')) {
      if (states.every((state, at) => at < otherDenyStart || state === DEAD_STATE)) return null;
      const acceptAllIndex = states.findIndex(
        (state, at) => at >= otherAllowStart && at < otherDenyStart && state === allAutomata[at]?.matchAllState,
      );
      return states.map((state, at) =>
        at < otherAllowStart || at >= otherDenyStart || at === acceptAllIndex ? state : DEAD_STATE,
      );
    }
    return states;
  };
  const isDifference = ({ states }: SearchStep): boolean =>
    hasState(states, 0, 1, 'accepted') &&
    !hasState(states, 1, otherAllowStart, 'accepted') &&
    (!hasState(states, otherAllowStart, otherDenyStart, 'accepted') ||
      hasState(states, otherDenyStart, allAutomata.length, 'accepted'));
  const stepAutomata = (states: readonly number[], character: string | null): number[] =>
    states.map((state, at) =>
      state === DEAD_STATE ? DEAD_STATE : stepAutomaton(allAutomata[at] as Automaton, state, character),
    );

  const initialStates = reduceStates(
    [...ARN_PREFIX].reduce(
      stepAutomata,
      allAutomata.map(() => 0),
    ),
  );
  if (!initialStates) return null;
  const visitedStates = new Set([initialStates.join()]);
  let currentLevel: SearchStep[] = [{ states: initialStates, previousStep: null, character: '', length: 0 }];
  for (let length = 0; currentLevel.length > 0 && length < maxLength; length += 1) {
    const foundStep = currentLevel.find(isDifference);
    if (foundStep) return listCharacters(foundStep);
    const nextLevel: SearchStep[] = [];
    for (const step of currentLevel) {
      const expectedCharacters = new Set<string>();
      for (const [at, state] of step.states.entries())
        if (state !== DEAD_STATE) addExpectedCharacters(allAutomata[at] as Automaton, state, expectedCharacters);
      for (const character of [null, ...expectedCharacters]) {
        spendBudget(budget, allAutomata.length);
        const states = reduceStates(stepAutomata(step.states, character));
        if (!states || visitedStates.has(states.join())) continue;
        visitedStates.add(states.join());
        nextLevel.push({
          states,
          previousStep: step,
          character: character ?? chooseUnexpectedCharacter(expectedCharacters),
          length: length + 1,
        });
      }
    }
    currentLevel = nextLevel;
  }
  return null;
}

/** Chooses a character that is not in the set. */
function chooseUnexpectedCharacter(expectedCharacters: ReadonlySet<string>): string {
  const fillerCharacter = FILLER_CHARACTERS.find((character) => !expectedCharacters.has(character));
  if (fillerCharacter !== undefined) return fillerCharacter;
  let code = 0x4e00;
  while (expectedCharacters.has(String.fromCodePoint(code))) code += 1;
  return String.fromCodePoint(code);
}

function listCharacters(step: SearchStep): string[] {
  const characters: string[] = [];
  for (let at: SearchStep = step; at.previousStep; at = at.previousStep) characters.push(at.character);
  return characters.reverse();
}
