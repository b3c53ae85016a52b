// Numbers, times and verdicts in words. What is unknown is said to be unknown, with its reason.

/** How each verdict is shown: the answer to the page's question, its one word wherever it is named, and a sign that needs no colour. */
export const VERDICTS = {
  helps: {answer: 'Yes, it helps', word: 'helps', sign: 'M5 13l4 4L19 7'},
  does_nothing: {answer: 'No, it does nothing', word: 'does nothing', sign: 'M5 9h14M5 15h14'},
  cannot_tell: {answer: 'Cannot tell yet', word: 'cannot tell', sign: 'M8.5 9a3.5 3.5 0 1 1 4.6 3.3c-.8.3-1.1.9-1.1 1.7v.5M12 18.5v.01'},
  harms: {answer: 'No, it harms', word: 'harms', sign: 'M6 6l12 12M18 6L6 18'},
};

/** No line ends between a number and its sign. */
const NARROW = '\u00a0';

export function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

export function plural(number, one, many = one + 's') {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)}${NARROW}%`;
}

/** A change of a time: negative is sooner. */
export function change(value) {
  return `${Math.abs(value).toFixed(1)}${NARROW}% ${value > 0 ? 'later' : 'sooner'}`;
}

export function signed(value) {
  return `${value > 0 ? '+' : value < 0 ? '\u2212' : ''}${Math.abs(value).toFixed(1)}${NARROW}%`;
}

/** An interval of changes, as one reads it. */
export function span([low, high]) {
  return `${signed(low)} to ${signed(high)}`;
}

/** Whether an effect is told apart from none. */
export function clear({interval95Percent: interval}) {
  return interval !== null && (interval[0] > 0 || interval[1] < 0);
}

export function seconds(value) {
  if (value < 1) {
    return `${Math.round(1000 * value)} ms`;
  }
  if (value < 90) {
    return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  }
  return value < 5400 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`;
}

export function bytes(value) {
  const gib = value / 2 ** 30;
  return gib >= 10 ? `${gib.toFixed(0)} GiB` : gib >= 1 ? `${gib.toFixed(1)} GiB` : `${Math.round(value / 2 ** 20)} MiB`;
}

export function clock(at) {
  return new Date(at).toLocaleTimeString('en-GB');
}

/** The number of a reading, or undefined. */
export function known(reading) {
  return reading && 'value' in reading ? reading.value : undefined;
}

/** Why a reading is unknown, or where it comes from. */
export function about(reading) {
  return reading === undefined ? '' : reading.unknown ?? reading.source ?? '';
}

/** With a capital letter and a full stop. */
export function sentence(text) {
  const begun = (text.charAt(0).toUpperCase() + text.slice(1)).replaceAll(' %', NARROW + '%');
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
