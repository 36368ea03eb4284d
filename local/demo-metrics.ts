/** Knowledge of the demo: meanings of its columns, and questions about them. */

/** Terms of the demo's data, with their descriptions and synonyms. */
export const CONCEPTS: Record<string, [description: string, ...aliases: string[]]> = {
  'Bird strike': [
    'A collision of an aircraft with wildlife.',
    'Collision',
    'Colisão',
    'Vogelschlag',
    'Choque con aves',
  ],
  Damage: ['What a strike did to the aircraft, from none to substantial.', 'Dano', 'Schaden'],
  'Strike with damage': ['A strike whose effect on the aircraft was more than none.', 'Damaging strike'],
  'Cost of strikes': ['What strikes cost in US dollars: repairs and other costs together.', 'Custo', 'Kosten', 'Coste'],
  Repair: ['Work that makes an aircraft fly again after a strike.', 'Reparo', 'Reparatur'],
  'Speed at impact': ['The indicated airspeed of the aircraft when it was struck, in knots.', 'IAS', 'Velocidade'],
  'Date of flight': ['The day of the flight on which a strike happened.', 'Data do voo', 'Flugdatum'],
  'State of origin': ['The state of the USA that the flight came from.', 'Estado', 'Bundesstaat'],
  Airline: ['Who operated the aircraft; the military as well.', 'Operator', 'Companhia aérea', 'Fluggesellschaft'],
  'Phase of flight': [
    'What the aircraft was doing: taxi, take-off run, climb, descent, approach, landing roll.',
    'Fase',
  ],
  'Size of the animal': ['Small, medium or large.', 'Wildlife size', 'Tamanho', 'Größe'],
  Wildlife: ['Birds, bats and other animals that aircraft meet.', 'Animal', 'Fauna'],
};

const MAPPED_TABLE = { mapped_tables: ['birdstrikes'] };

interface DemoItem {
  kind: 'metric' | 'dimension';
  name: string;
  description: string;
  concept: string;
  formula?: string;
  aggregation?: string;
  mapped_tables?: string[];
  mapped_columns?: string[];
}

const makeMetric = (name: string, concept: string, description: string, fields: Partial<DemoItem>): DemoItem => ({
  kind: 'metric',
  name,
  concept,
  description,
  ...fields,
});
const makeDimension = (name: string, concept: string, column: string, description: string): DemoItem => ({
  kind: 'dimension',
  name,
  concept,
  description,
  mapped_columns: [`birdstrikes.${column}`],
});

export const KNOWLEDGE_ITEMS: DemoItem[] = [
  makeMetric('Strikes', 'Bird strike', 'The number of reported strikes.', { ...MAPPED_TABLE, aggregation: 'count' }),
  makeMetric('Strikes with damage', 'Strike with damage', 'The number of strikes that damaged the aircraft.', {
    ...MAPPED_TABLE,
    formula: "count(*) FILTER (WHERE effect_amount_of_damage <> 'None')",
  }),
  makeMetric('Share with damage', 'Damage', 'Which part of the strikes damaged the aircraft, from 0 to 1.', {
    formula: '{{Strikes with damage}} / {{Strikes}}',
  }),
  makeMetric('Total cost', 'Cost of strikes', 'What the strikes cost, in US dollars.', {
    ...MAPPED_TABLE,
    formula: 'sum(cost_total)',
  }),
  makeMetric(
    'Cost per strike with damage',
    'Cost of strikes',
    'Total cost by each strike with damage, in US dollars.',
    {
      formula: '{{Total cost}} / {{Strikes with damage}}',
    },
  ),
  makeMetric('Average speed', 'Speed at impact', 'The mean speed at impact where it is known, in knots.', {
    ...MAPPED_TABLE,
    formula: 'avg(speed_ias_in_knots)',
  }),
  makeDimension('Flight date', 'Date of flight', 'flight_date', 'The day of the flight.'),
  makeDimension('State', 'State of origin', 'origin_state', 'The state that the flight came from.'),
  makeDimension('Airline', 'Airline', 'aircraft_airline_operator', 'Who operated the aircraft.'),
  makeDimension('Phase of flight', 'Phase of flight', 'phase_of_flight', 'What the aircraft was doing.'),
  makeDimension('Wildlife size', 'Size of the animal', 'wildlife_size', 'Small, Medium or Large.'),
];

/** Questions that can be asked without an AI provider. */
export const QUESTIONS = [
  {
    question: 'How many strikes were there in each year?',
    query: { metrics: ['Strikes'], dimensions: ['Flight date'], time_grain: 'year' as const },
  },
  {
    question: 'Which state had the highest total cost?',
    query: {
      metrics: ['Total cost'],
      dimensions: ['State'],
      order_by: [{ by: 'Total cost', descending: true }],
      limit: 1,
    },
  },
  {
    question: 'What share of strikes with large animals caused damage?',
    query: {
      metrics: ['Share with damage'],
      filters: [{ dimension: 'Wildlife size', op: 'eq' as const, values: ['Large'] }],
    },
  },
];
