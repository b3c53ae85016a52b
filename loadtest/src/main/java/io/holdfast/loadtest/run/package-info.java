/**
 * The experiment: server lives, the steps of a leg that are the same in both arms, and progress for people.
 *
 * <p>An engine, the holder and the clock are ports here ({@code EngineUnderTest}, {@code ArmSwitch}, {@code RunClock}).
 * No HTTP and no JSON: the same experiment runs against a server and, in tests, in virtual time.
 */
@NullMarked
package io.holdfast.loadtest.run;

import org.jspecify.annotations.NullMarked;
