import { type BoundValue, coerceParameter, isChoiceKind } from '../sql-templates/parameters.ts';
import type { Input } from './filter-policy.ts';

type AttributeScalar = string | number | boolean;
type AttributeValue = AttributeScalar | readonly AttributeScalar[];

/** The attributes of a viewer, by slug, set by whoever grants the access. They decide which rows are shown. */
export type ViewerAttributes = Readonly<Record<string, AttributeValue>>;

/** The viewer of an embed, identified by the embedding host. */
export interface EmbedViewer {
  id: string;
  attributes: ViewerAttributes;
}

/**
 * Computes the value of an input that is bound to attributes: the values that all of them allow. Undefined where an attribute
 * is missing or does not fit the input, or where single values differ.
 */
export function computeAttributeValue(
  { kind, takesList, viewerAttributes }: Pick<Input, 'kind' | 'takesList' | 'viewerAttributes'>,
  attributes: ViewerAttributes,
): NonNullable<BoundValue> | undefined {
  let commonValue: NonNullable<BoundValue> | undefined;
  for (const name of viewerAttributes) {
    const attribute = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    const coercedValue = coerceParameter(isChoiceKind(kind) ? 'multi_select' : kind, attribute);
    const value = 'value' in coercedValue ? coercedValue.value : null;
    if (value === null || (value.type === 'list' && value.values.length > 1 && !takesList)) return undefined;
    commonValue = commonValue === undefined ? value : intersectValues(commonValue, value);
    if (commonValue === undefined) return undefined;
  }
  return commonValue;
}

/** Intersects two values: of lists the common values, of other values the same value; else undefined. */
export function intersectValues(
  first: NonNullable<BoundValue>,
  other: NonNullable<BoundValue>,
): NonNullable<BoundValue> | undefined {
  if (first.type === 'list' && other.type === 'list') {
    return { type: 'list', values: first.values.filter((value) => other.values.includes(value)) };
  }
  return JSON.stringify(first) === JSON.stringify(other) ? first : undefined;
}

/**
 * Combines the attributes of a person who has access for several reasons, such as two groups: where several sets contain one
 * attribute, only the values in all of them. Texts, numbers and booleans are compared as the texts that are bound.
 */
export function combineAttributes(attributeSets: readonly ViewerAttributes[]): ViewerAttributes {
  const combinedValues = new Map<string, AttributeValue>();
  for (const attributes of attributeSets) {
    for (const [slug, value] of Object.entries(attributes)) {
      const currentValue = combinedValues.get(slug);
      combinedValues.set(slug, currentValue === undefined ? value : intersectAttributes(currentValue, value));
    }
  }
  return Object.fromEntries(combinedValues);
}

/** Intersects two attribute values. The result is a list only where both are: some inputs take a single value only. */
function intersectAttributes(first: AttributeValue, other: AttributeValue): AttributeValue {
  const commonValues = toList(first).filter((scalar) => hasValue(other, scalar));
  return Array.isArray(first) && Array.isArray(other) ? commonValues : (commonValues[0] ?? []);
}

const toList = (value: AttributeValue): readonly AttributeScalar[] => (typeof value === 'object' ? value : [value]);

const hasValue = (value: AttributeValue, scalar: AttributeScalar): boolean =>
  toList(value).some((element) => String(element) === String(scalar));
