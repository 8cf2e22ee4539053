// A validator for the part of JSON Schema that /openapi.json uses. It knows every keyword it meets
// or throws: a rule that is silently skipped would make every answer conform.

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const formats = {
  uuid: (text) => uuid.test(text),
  'date-time': (text) => time.test(text) && !Number.isNaN(Date.parse(text)),
};

function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  return typeof value;
}

const isA = (value, type) => typeOf(value) === type
  || (type === 'number' && typeof value === 'number');
const length = (text) => [...text].length;

// A keyword says what is wrong with a value, or nothing.
const keywords = {
  type: (want, value) => [want].flat().some((type) => isA(value, type))
    ? [] : [`is ${typeOf(value)}, not ${want}`],
  enum: (words, value) => words.includes(value) ? [] : [`is ${value}, not one of ${words}`],
  const: (want, value) => value === want ? [] : [`is ${value}, not ${want}`],
  format: (name, value) => typeof value !== 'string' || formats[name](value)
    ? [] : [`is no ${name}: ${value}`],
  minimum: (least, value) => typeof value !== 'number' || value >= least ? [] : [`< ${least}`],
  maximum: (most, value) => typeof value !== 'number' || value <= most ? [] : [`> ${most}`],
  minLength: (least, value) => typeof value !== 'string' || length(value) >= least
    ? [] : ['is too short'],
  maxLength: (most, value) => typeof value !== 'string' || length(value) <= most
    ? [] : ['is too long'],
  minItems: (least, value) => !Array.isArray(value) || value.length >= least
    ? [] : ['has too few items'],
  maxItems: (most, value) => !Array.isArray(value) || value.length <= most
    ? [] : ['has too many items'],
  required: (names, value) => typeOf(value) !== 'object' ? []
    : names.filter((name) => !(name in value)).map((name) => `lacks ${name}`),
  properties: (properties, value, check) => typeOf(value) !== 'object' ? []
    : Object.keys(properties).filter((name) => name in value)
      .flatMap((name) => check(properties[name], value[name], `.${name}`)),
  additionalProperties: (allowed, value, check, schema) => typeOf(value) !== 'object' || allowed
    ? [] : Object.keys(value).filter((name) => !(name in (schema.properties ?? {})))
      .map((name) => `has ${name}, which is not documented`),
  items: (items, value, check) => !Array.isArray(value) ? []
    : value.flatMap((item, i) => check(items, item, `[${i}]`)),
  oneOf: (choices, value, check) => {
    const wrong = choices.map((choice) => check(choice, value, ''));
    const fits = wrong.filter((list) => list.length === 0).length;
    return fits === 1 ? [] : [`fits ${fits} of ${choices.length}: ${wrong.flat().join('; ')}`];
  },
  anyOf: (choices, value, check) => {
    const wrong = choices.map((choice) => check(choice, value, ''));
    return wrong.some((list) => list.length === 0) ? [] : [`fits none: ${wrong.flat().join('; ')}`];
  },
  $ref: (ref, value, check, schema, document) => check(resolve(document, ref), value, ''),
  description: () => [],
};

// What `#/components/schemas/Job` points to.
export function resolve(document, ref) {
  const found = ref.replace(/^#\//, '').split('/').reduce((at, part) => at?.[part], document);
  if (!ref.startsWith('#/') || found === undefined) throw new Error(`${ref} leads nowhere`);
  return found;
}

// Every problem of the value, each with its place; none when it conforms.
export function problems(document, schema, value, place = '$') {
  return Object.keys(schema).flatMap((name) => {
    if (!(name in keywords)) throw new Error(`${place}: the keyword ${name} is not known`);
    const check = (inner, part, step) => problems(document, inner, part, place + step);
    return keywords[name](schema[name], value, check, schema, document)
      .map((problem) => problem.startsWith('$') ? problem : `${place} ${problem}`);
  });
}

// What is wrong with a schema itself: unknown keywords, references to nothing, names in `required`
// that are no properties.
export function schemaProblems(document, schema, place) {
  const wrong = Object.keys(schema).filter((name) => !(name in keywords))
    .map((name) => `${place}: unknown keyword ${name}`);
  if (schema.$ref) resolve(document, schema.$ref);
  if (schema.format && !(schema.format in formats)) wrong.push(`${place}: ${schema.format}?`);
  for (const name of schema.required ?? []) {
    if (!(name in (schema.properties ?? {}))) wrong.push(`${place}: requires unknown ${name}`);
  }
  const inner = [...Object.entries(schema.properties ?? {}), ['items', schema.items],
                 ...(schema.oneOf ?? []).entries(), ...(schema.anyOf ?? []).entries()];
  return wrong.concat(inner.filter(([, part]) => part)
    .flatMap(([name, part]) => schemaProblems(document, part, `${place}.${name}`)));
}
