import { type BoundValue, coerceParameter, isChoice, type ParameterKind } from '../sql-templates/parameters.ts';

type Scalar = string | number | boolean;

/** The attributes of a viewer, by slug, set by whoever grants the access. They decide which rows are shown. */
export type ViewerAttributes = Readonly<Record<string, Scalar | readonly Scalar[]>>;

/** The viewer of an embed, as its host knows them. */
export interface Viewer {
  id: string;
  attributes: ViewerAttributes;
}

/** An input as far as it is bound to attributes. */
interface BoundInput {
  kind: ParameterKind;
  takesList: boolean;
  viewerAttributes: readonly string[];
}

/** The value of an input that attributes bind: what all of them allow; undefined where one is missing or no value. */
export function attributeValue(
  { kind, takesList, viewerAttributes }: BoundInput,
  attributes: ViewerAttributes,
): NonNullable<BoundValue> | undefined {
  let left: NonNullable<BoundValue> | undefined;
  for (const name of viewerAttributes) {
    const given = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    const coerced = coerceParameter(isChoice(kind) ? 'multi_select' : kind, given);
    const value = 'value' in coerced ? coerced.value : null;
    if (value === null || (value.type === 'list' && value.values.length > 1 && !takesList)) return undefined;
    left = left === undefined ? value : intersectValues(left, value);
    if (left === undefined) return undefined;
  }
  return left;
}

/** What two values both allow: of lists the common values, of others the same value; else undefined. */
export function intersectValues(
  one: NonNullable<BoundValue>,
  other: NonNullable<BoundValue>,
): NonNullable<BoundValue> | undefined {
  if (one.type === 'list' && other.type === 'list') {
    return { type: 'list', values: one.values.filter((value) => other.values.includes(value)) };
  }
  return JSON.stringify(one) === JSON.stringify(other) ? one : undefined;
}

/**
 * The attributes of somebody who is let in for several reasons, such as two groups: where several name one, the values in all of
 * them. Texts, numbers and booleans count as the texts that they are bound as.
 */
export function combinedAttributes(all: readonly ViewerAttributes[]): ViewerAttributes {
  const combined = new Map<string, Scalar | readonly Scalar[]>();
  for (const attributes of all) {
    for (const [slug, value] of Object.entries(attributes)) {
      const known = combined.get(slug);
      combined.set(slug, known === undefined ? value : toList(known).filter((each) => has(value, each)));
    }
  }
  return Object.fromEntries(combined);
}

const toList = (value: Scalar | readonly Scalar[]): readonly Scalar[] => (typeof value === 'object' ? value : [value]);

const has = (value: Scalar | readonly Scalar[], one: Scalar): boolean =>
  toList(value).some((each) => String(each) === String(one));
