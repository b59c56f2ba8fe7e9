/* Rounds a double once, to nearest, ties to even, to a float of 16 bits: `fraction` bits of
 * fraction and an exponent biased by `bias`. NaN stays NaN; what is too large becomes infinity. */
static uint16_t lg_round_double(double value, int fraction, int bias)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t infinity = (uint64_t)(2 * bias + 1) << fraction;
    const uint64_t sign = (bits >> 63) << 15;
    const uint64_t mantissa = bits & UINT64_C(0xfffffffffffff);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (exponent == 1024 && mantissa != 0)
        return (uint16_t)(sign | infinity | UINT64_C(1) << (fraction - 1) |
                          mantissa >> (52 - fraction));
    /* Below the least normal exponent the last place stays where it is. */
    const int lowest = 1 - bias;
    const int scale = exponent < lowest ? lowest : exponent;
    const int drop = 52 - fraction + (scale - exponent);
    if (exponent == 1024)
        return (uint16_t)(sign | infinity);
    if (drop > 54)
        return (uint16_t)sign;
    const uint64_t whole = mantissa | UINT64_C(1) << 52;
    const uint64_t kept = whole >> drop;
    const uint64_t rest = whole & ((UINT64_C(1) << drop) - 1);
    const uint64_t half = UINT64_C(1) << (drop - 1);
    const uint64_t up = rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
    /* `kept` carries its leading one into the exponent, and so does rounding up. */
    const uint64_t rounded = ((uint64_t)(scale - lowest) << fraction) + kept + up;
    return (uint16_t)(sign | (rounded < infinity ? rounded : infinity));
}
