use median::median;

#[test]
fn nothing_has_no_median() {
    assert_eq!(median(&[]), None);
}

#[test]
fn an_odd_number_of_values_has_one_middle() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
}

#[test]
fn an_even_number_of_values_has_two_middles() {
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
}

#[test]
fn two_values_have_the_mean_as_median() {
    assert_eq!(median(&[10.0, 20.0]), Some(15.0));
}
