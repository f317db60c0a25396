// JavaScript is run as it is written. Part of a bootstrap.

function translate(source) {
    return newCurrent(source, undefined, (place) => place);
}
