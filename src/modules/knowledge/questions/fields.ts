import { textUpTo } from '../resources/fields.ts';

/** A question as somebody asks it. */
export const questionText = textUpTo(1000).meta({ examples: ['What did customers in Recife pay last year?'] });
